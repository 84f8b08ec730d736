/** The server's results and messages, shown as text, images and audio, never as markup. */
import { useState } from "hono/jsx/dom";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { excessOf } from "../server/kernel/core/shape.ts";
import { jsonIn, printableText } from "../server/kernel/core/text.ts";
import type { TimedMessage } from "./mcp.ts";

/** Maximum length of a text shown: a page with a megabyte of text is slow. */
const CHARACTERS = 100_000;
const MESSAGE_CHARACTERS = 10_000;

/** Maximum number of a result's blocks shown: tens of thousands of elements block a page for seconds. */
const BLOCKS = 500;

/** The beginning of a text, in printable characters. */
export const cut = (text: string, most = CHARACTERS): string => {
  const shown = printableText(text.slice(0, most));
  return text.length > most ? `${shown}\n… ${text.length - most} more characters` : shown;
};

/** Maximum length of a name, an address or a description, in characters. */
const LINE = 2000;

const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? "";

export const Text = ({ text, most }: { text: string; most?: number }) => (
  <pre class="text" tabindex={0}>
    {cut(text, most)}
  </pre>
);

const str = (value: unknown): string => (typeof value === "string" ? value : "");

/** A data URL that the content security policy allows the page to load. */
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
        <Said text={text} />
      ) : (
        <Media mimeType={str(mimeType)} data={str(blob)} name={str(uri)} />
      )}
    </figure>
  );
};

/** Reads a resource that a result links to. */
export type Read = (uri: string) => Promise<Json>;

/** A link to a resource, whose contents are shown in place. */
const Link = ({ block, read }: { block: Json; read: Read }) => {
  const { uri, name, title, description } = block;
  const [opened, setOpened] = useState<Json | string | undefined>(undefined);
  const open = () => {
    setOpened("Loading …");
    read(str(uri)).then(setOpened, (error: unknown) => setOpened(String(error)));
  };
  return (
    <div class="notice">
      <p>
        <strong>{cut(str(title) || str(name), LINE)}</strong> <code>{cut(str(uri), LINE)}</code>
      </p>
      {description !== undefined && <p class="dim">{cut(str(description), LINE)}</p>}
      {opened === undefined ? (
        <button type="button" onClick={open}>
          Open
        </button>
      ) : typeof opened === "string" ? (
        <p role="status">{cut(opened, LINE)}</p>
      ) : (
        list(opened["contents"]).map((one) => <Contents of={one} />)
      )}
    </div>
  );
};

/** One block of a result or of a prompt. */
const Block = ({ block, read }: { block: Json; read: Read }) => {
  const { type, text, data, mimeType, resource } = block;
  switch (type) {
    case "text":
      return <Said text={str(text)} />;
    case "image":
    case "audio":
      return <Media mimeType={str(mimeType)} data={str(data)} name={`The ${type} of the result`} />;
    case "resource":
      return <Contents of={isObject(resource) ? resource : {}} />;
    case "resource_link":
      return <Link block={block} read={read} />;
    default:
      return <Text text={pretty(block)} />;
  }
};

/** Text with aligned columns: code, tables, drawings. */
const IS_SET = /^( {2}|\t|[|+])|\S {2,}\S|```/m;

/** A text for people: JSON as a value, text with columns as is, and the rest as prose. */
const Said = ({ text }: { text: string }) => {
  const value = valueIn(text);
  if (value !== undefined) return <Value value={value} />;
  if (IS_SET.test(text)) return <Text text={text} />;
  return <p class="said">{cut(text)}</p>;
};

/** Maximum depth of JSON: serializing thousands of levels overflows the stack or produces gigabytes of indentation. */
const LEVELS = 100;

/** The object or list in a JSON text; undefined for other texts. */
function valueIn(text: string): object | undefined {
  if (text.length > CHARACTERS || !/^\s*[[{]/.test(text)) return undefined;
  const value = jsonIn(text) as object | undefined;
  return excessOf(value, { depth: LEVELS }) === undefined ? value : undefined;
}

/** True for a text block that only repeats the structured content. */
function isSaid({ type, text }: Json, structured: Json): boolean {
  if (type !== "text") return false;
  const json = JSON.stringify(valueIn(str(text)));
  return [structured, ...sole(structured)].some(
    (one) => one === text || JSON.stringify(one) === json,
  );
}

/** The only member of an object. Some SDKs wrap a result in such an object if it is not an object itself. */
const sole = (value: unknown): unknown[] => {
  const all = isObject(value) ? Object.values(value) : [];
  return all.length === 1 ? all : [];
};

/** Maximum number of rows shown in a table. */
const ROWS = 1000;
/** Number of rows shown at first, and added by each click. */
const STEP = matchMedia("(max-width: 40rem)").matches ? 20 : 100;
/** Maximum number of columns in a table. */
const COLUMNS = 12;
/** Maximum number of members or items in a tree. */
const VALUES = 500;
/** Maximum depth of a tree. */
const DEPTH = 8;

/** A value as a table, a tree, or text. */
const Value = ({ value, depth = 0 }: { value: unknown; depth?: number }) => {
  if (value === null || typeof value !== "object")
    return <span class="value">{cut(asText(value), MESSAGE_CHARACTERS)}</span>;
  const all = Object.entries(value);
  if (all.length === 0)
    return <span class="dim">{Array.isArray(value) ? "empty list" : "no values"}</span>;
  if (depth > DEPTH) return <Text text={pretty(value)} most={MESSAGE_CHARACTERS} />;
  if (Array.isArray(value) && isTable(value)) return <Table rows={value as Json[]} />;
  const line = Array.isArray(value) ? lineOf(value) : undefined;
  if (line !== undefined) return <span class="value">{cut(line)}</span>;
  const shown = all.slice(0, VALUES);
  const rest = all.length - shown.length;
  const more = rest > 0 && <p class="dim">… {rest} more</p>;
  if (Array.isArray(value))
    return (
      <>
        <ol class="tree">
          {shown.map(([, one]) => (
            <li>
              <Value value={one} depth={depth + 1} />
            </li>
          ))}
        </ol>
        {more}
      </>
    );
  return (
    <>
      <dl class="tree">
        {shown.map(([name, one]) => (
          <div class={isNested(one) ? "nested" : ""}>
            <dt>{cut(name, LINE)}</dt>
            <dd>
              <Value value={one} depth={depth + 1} />
            </dd>
          </div>
        ))}
      </dl>
      {more}
    </>
  );
};

const asText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

const isNested = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.keys(value).length > 0 &&
  !(Array.isArray(value) && lineOf(value) !== undefined);

/** A short list of simple values, as a line. */
function lineOf(value: readonly unknown[]): string | undefined {
  if (value.length > VALUES || value.some((one) => typeof one === "object" && one !== null))
    return undefined;
  const line = value.map(asText).join(", ");
  return line.length > LINE_WIDTH || line.includes("\n") ? undefined : line;
}
const LINE_WIDTH = 160;

/** True for a list of objects with few distinct members in total. */
function isTable(value: readonly unknown[]): boolean {
  const rows = value.slice(0, ROWS);
  return rows.length > 1 && rows.every(isObject) && columnsOf(rows).length <= COLUMNS;
}

const columnsOf = (rows: readonly Json[]): string[] => [
  ...new Set(rows.slice(0, ROWS).flatMap((one) => Object.keys(one).slice(0, COLUMNS + 1))),
];

/** A list of objects as a table. Shows the first rows, and a button for more. */
const Table = ({ rows }: { rows: readonly Json[] }) => {
  const [count, setCount] = useState(STEP);
  const columns = columnsOf(rows);
  const isNumber = (name: string) =>
    rows.slice(0, STEP).every((one) => typeof (one[name] ?? 0) === "number");
  const numbers = new Set(columns.filter(isNumber));
  const most = Math.min(ROWS, rows.length);
  const shown = Math.min(count, most);
  return (
    <>
      <div class="wide" tabindex={0} role="region" aria-label="Result as a table">
        <table class="stacked">
          <thead>
            <tr>
              {columns.map((name) => (
                <th scope="col" class={numbers.has(name) ? "number" : ""}>
                  {cut(name, LINE)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((one) => (
              <tr>
                {columns.map((name) => (
                  <td data-label={cut(name, LINE)} class={numbers.has(name) ? "number" : ""}>
                    {one[name] === undefined ? "" : cut(asText(one[name]), LINE)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="acts dim small">
        {shown < rows.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`}
        {shown < most && (
          <button type="button" onClick={() => setCount(count + STEP)}>
            Show {Math.min(STEP, most - shown)} more
          </button>
        )}
        {shown === most && most < rows.length && "JSON has all of them."}
      </p>
    </>
  );
};

const list = (value: unknown): Json[] =>
  Array.isArray(value) ? value.slice(0, BLOCKS).filter(isObject) : [];

/** A result for people, as JSON of its values, or as received. */
export const ResultView = ({ result, read }: { result: Json; read: Read }) => {
  const { structuredContent } = result;
  const [way, setWay] = useState<"Result" | "JSON" | "Raw">("Result");
  const json = structuredContent ?? soleJson(result);
  const ways = (["Result", "JSON", "Raw"] as const).filter(
    (one) => one !== "JSON" || json !== undefined,
  );
  const text = pretty(way === "JSON" ? json : result);
  return (
    <>
      <div class="ways acts">
        <div role="group" aria-label="Show as" class="acts">
          {ways.map((one) => (
            <button
              type="button"
              aria-pressed={one === way ? "true" : "false"}
              onClick={() => setWay(one)}
            >
              {one}
            </button>
          ))}
        </div>
        <CopyButton text={() => (way === "Result" ? readable(result) : text)} />
      </div>
      {way === "Result" ? <Readable result={result} read={read} /> : <Text text={text} />}
    </>
  );
};

/** The value of a result whose only block is a JSON text. */
function soleJson({ content }: Json): unknown {
  const [first, ...others] = list(content);
  return first !== undefined && others.length === 0 ? valueIn(str(first["text"])) : undefined;
}

/** A result as text to copy. */
function readable(result: Json): string {
  const texts = [...list(result["content"]), ...list(result["contents"])].flatMap(({ text }) =>
    typeof text === "string" ? [text] : [],
  );
  return texts.length > 0 ? texts.join("\n\n") : pretty(result["structuredContent"] ?? result);
}

export const CopyButton = ({ text, label = "Copy" }: { text(): string; label?: string }) => {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {isCopied ? "Copied" : label}
    </button>
  );
};

const Readable = ({ result, read }: { result: Json; read: Read }) => {
  const { content, structuredContent: structured, isError, messages, contents } = result;
  const all = [content, messages, contents].map((one) => (Array.isArray(one) ? one.length : 0));
  const hidden = all.reduce((sum, length) => sum + Math.max(0, length - BLOCKS), 0);
  const blocks = list(content);
  const others = isObject(structured) ? blocks.filter((one) => !isSaid(one, structured)) : blocks;
  // The text block repeats the text that an SDK has wrapped in an object.
  const [only] = sole(structured);
  const isText = typeof only === "string" && others.length < blocks.length;
  const shown = isText ? blocks : others;
  return (
    <>
      {isError === true && (
        <div class="notice wrong" role="alert">
          <p>
            <strong>The tool reports an error</strong>
          </p>
          {shown.map((block) => (
            <Block block={block} read={read} />
          ))}
        </div>
      )}
      {isError !== true && shown.map((block) => <Block block={block} read={read} />)}
      {list(messages).map(({ role, content: said }) => (
        <>
          <p class="dim">{printableText(str(role))}:</p>
          {isObject(said) && <Block block={said} read={read} />}
        </>
      ))}
      {list(contents).map((one) => (
        <Contents of={one} />
      ))}
      {hidden > 0 && <p class="dim">… {hidden} more, which are not shown</p>}
      {structured !== undefined && !isText && <Value value={unwrapped(structured)} />}
    </>
  );
};

/** The only member of an object if it can be shown as a table; else the value itself. */
const unwrapped = (value: unknown): unknown => {
  const [only] = sole(value);
  return Array.isArray(only) && isTable(only) ? only : value;
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
