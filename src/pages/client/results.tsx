/** Results and messages of the server: shown as text, images and audio, never as markup. */
import { useState } from "hono/jsx/dom";
import { isObject, type Json } from "../../core/model.ts";
import { printableText } from "../../core/text.ts";
import type { TimedMessage } from "./mcp.ts";

/** Longer texts are cut, since a page with a megabyte of text is slow. */
const CHARACTERS = 100_000;
const MESSAGE_CHARACTERS = 10_000;

/** Blocks of a result that are shown: ten thousands of elements stop a page for seconds. */
const BLOCKS = 500;

/** The beginning of a text, printable. */
export const cut = (text: string, most = CHARACTERS): string => {
  const shown = printableText(text.slice(0, most));
  return text.length > most ? `${shown}\n… ${text.length - most} more characters` : shown;
};

/** Characters of a name, an address or a description. */
const LINE = 2000;

const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";

export const Text = ({ text, most }: { text: string; most?: number }) => (
  <pre class="text" tabindex={0}>
    {cut(text, most)}
  </pre>
);

const str = (value: unknown): string => (typeof value === "string" ? value : "");

/** Binary data as a URL that the page's policy lets it load. */
const dataOf = (mimeType: string, data: string) => `data:${mimeType};base64,${data}`;

const Media = ({ mimeType, data, name }: { mimeType: string; data: string; name: string }) => {
  if (/^image\/[\w.+-]+$/.test(mimeType))
    return <img class="picture" src={dataOf(mimeType, data)} alt={name} />;
  if (/^audio\/[\w.+-]+$/.test(mimeType))
    return <audio controls src={dataOf(mimeType, data)} aria-label={name} />;
  return (
    <p>
      {cut(mimeType, LINE)}, {Math.floor((data.length * 3) / 4)} bytes
    </p>
  );
};

/** The contents of a resource. */
const Contents = ({ of }: { of: Json }) => {
  const { uri, text, blob, mimeType } = of;
  return (
    <figure>
      <figcaption class="dim">
        {cut(str(uri), LINE)} {cut(str(mimeType), LINE)}
      </figcaption>
      {typeof text === "string" ? (
        <Text text={text} />
      ) : (
        <Media mimeType={str(mimeType)} data={str(blob)} name={str(uri)} />
      )}
    </figure>
  );
};

/** One block of a result or of a prompt. */
const Block = ({ block }: { block: Json }) => {
  const { type, text, data, mimeType, resource, uri, name, description } = block;
  switch (type) {
    case "text":
      return <Text text={str(text)} />;
    case "image":
    case "audio":
      return <Media mimeType={str(mimeType)} data={str(data)} name={`The ${type} of the result`} />;
    case "resource":
      return <Contents of={isObject(resource) ? resource : {}} />;
    case "resource_link":
      return (
        <p>
          Resource <code>{cut(str(uri), LINE)}</code> {cut(str(description) || str(name), LINE)}
        </p>
      );
    default:
      return <Text text={pretty(block)} />;
  }
};

/** The result of a call, prompt or read. */
export const ResultView = ({ result }: { result: Json }) => {
  const { content, structuredContent, isError, messages, contents } = result;
  const all = [content, messages, contents].map((one) => (Array.isArray(one) ? one.length : 0));
  const hidden = all.reduce((sum, length) => sum + Math.max(0, length - BLOCKS), 0);
  const list = (value: unknown) =>
    Array.isArray(value) ? value.slice(0, BLOCKS).filter(isObject) : [];
  return (
    <>
      {isError === true && <p class="wrong">The tool reports an error:</p>}
      {list(content).map((block) => (
        <Block block={block} />
      ))}
      {list(messages).map(({ role, content: said }) => (
        <>
          <p class="dim">{printableText(str(role))}:</p>
          {isObject(said) && <Block block={said} />}
        </>
      ))}
      {list(contents).map((one) => (
        <Contents of={one} />
      ))}
      {hidden > 0 && <p class="dim">… {hidden} more, which are not shown</p>}
      {structuredContent !== undefined && (
        <>
          <h4>Structured content</h4>
          <Text text={pretty(structuredContent)} />
        </>
      )}
    </>
  );
};

/** The messages of a call, as sent and received. */
export const Messages = ({ messages }: { messages: readonly TimedMessage[] }) => {
  const [isOpen, setOpen] = useState(false);
  const toggled = ({ target }: Event) => setOpen((target as HTMLDetailsElement).open);
  return (
    <details class="messages" onToggle={toggled}>
      <summary>Messages ({messages.length})</summary>
      {isOpen &&
        messages.map(({ isSent, at, json, isOfView }) => (
          <>
            <p class="dim">
              {isOfView ? (isSent ? "to the view" : "from the view") : isSent ? "sent" : "received"}{" "}
              {new Date(at).toISOString().slice(11, 23)}
            </p>
            <Text text={pretty(json)} most={MESSAGE_CHARACTERS} />
          </>
        ))}
    </details>
  );
};
