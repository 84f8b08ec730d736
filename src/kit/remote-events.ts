/** An event of a stream. `retry` is in ms. */
interface ServerEvent {
  id?: string;
  data: string;
  retry?: number;
}

/**
 * The events in a text that ends where an event does. Without regular expressions, which are slow in the interpreter.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function eventsIn(text: string): ServerEvent[] {
  const lines = text.includes("\r") ? text.replaceAll("\r\n", "\n").replaceAll("\r", "\n") : text;
  return lines.split("\n\n").flatMap((block) => {
    const event: ServerEvent = { data: "" };
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(line[at + 1] === " " ? at + 2 : at + 1);
      if (field === "data") data.push(value);
      else if (field === "id" && !value.includes("\0")) event.id = value;
      else if (field === "retry" && /^\d{1,9}$/.test(value)) event.retry = Number(value);
    }
    event.data = data.join("\n");
    return data.length === 0 && event.id === undefined && event.retry === undefined ? [] : [event];
  });
}
