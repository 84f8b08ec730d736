/** The script of a question page: shows the view that answers the question, and a button for the form instead. */
import type { Json } from "../server/kernel/core/model.ts";

const place = document.querySelector<HTMLElement>("#view");
const form = document.querySelector<HTMLFormElement>("#answer");

if (place && form) {
  const closing = new AbortController();
  const preferred = document.createElement("button");
  Object.assign(preferred, { type: "button", textContent: "Use the form instead" });
  preferred.addEventListener("click", () => closing.abort());
  // Above the view: below it, the button would move as the view grows, and a click could miss it.
  place.before(preferred);
  form.hidden = true;
  const { address = "", asked = "{}" } = place.dataset;

  /** Sends an answer by the form. After `cancel`, the user answers in the form. */
  const answer = ({ action, content }: { action: string; content?: Json | undefined }) => {
    closing.abort();
    if (action === "cancel") return;
    const fields = { decision: action, content: JSON.stringify(content ?? {}) };
    for (const [name, value] of Object.entries(fields))
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    form.submit();
  };
  const params = JSON.parse(asked) as Json;
  const view = { address, title: "The question", meta: {}, question: { params, answer } };
  try {
    const { hostView } = await import("./view-host.ts");
    await hostView(place, view, closing.signal);
  } catch (error) {
    place.textContent = (error as Error).message;
  }
  preferred.remove();
  form.hidden = false;
}
