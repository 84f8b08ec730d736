/** `FormData`, and forms as request bodies. */
import { hostFor } from "../host.ts";
import { Blob, File } from "./blob.ts";
import { binaryOf, bytesOf, decodeUtf8, encodeUtf8, joinedBytes } from "./bytes.ts";

type Value = string | File;

/** https://xhr.spec.whatwg.org/#interface-formdata */
export class FormData {
  #entries: [name: string, value: Value][] = [];

  append(name: string, value: string | Blob, filename?: string): void {
    this.#entries.push(entry(name, value, filename));
  }

  set(name: string, value: string | Blob, filename?: string): void {
    const made = entry(name, value, filename);
    const at = this.#entries.findIndex(([one]) => one === made[0]);
    this.#entries = this.#entries.filter(([one], index) => one !== made[0] || index === at);
    if (at < 0) this.#entries.push(made);
    else this.#entries[at] = made;
  }

  get(name: string): Value | null {
    return this.#entries.find(([one]) => one === name)?.[1] ?? null;
  }

  getAll(name: string): Value[] {
    return this.#entries.filter(([one]) => one === name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.#entries.some(([one]) => one === name);
  }

  delete(name: string): void {
    this.#entries = this.#entries.filter(([one]) => one !== name);
  }

  forEach(callback: (value: Value, name: string, form: FormData) => void): void {
    for (const [name, value] of this) callback(value, name, this);
  }

  *entries(): IterableIterator<[string, Value]> {
    for (const [name, value] of this.#entries) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this) yield name;
  }

  *values(): IterableIterator<Value> {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries();
  }
}

function entry(name: string, value: string | Blob, filename?: string): [string, Value] {
  const key = name.toWellFormed();
  if (!(value instanceof Blob)) return [key, value.toWellFormed()];
  if (value instanceof File && filename === undefined) return [key, value];
  const { type } = value;
  return [key, new File([value], filename ?? "blob", { type })];
}

const quoted = (name: string) => name.replace(/\r\n?|\n/g, "%0D%0A").replaceAll('"', "%22");

/** https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data */
export function encodeForm(form: FormData): { bytes: Uint8Array<ArrayBuffer>; type: string } {
  const random = new Uint8Array(hostFor("A FormData as a body").random(16)).toHex();
  const boundary = `----edge-servlets-${random}`;
  const parts = [...form].flatMap(([name, value]) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === "string") {
      return [encodeUtf8(`${head}\r\n\r\n${value.replace(/\r\n?|\n/g, "\r\n")}\r\n`)];
    }
    const type = value.type || "application/octet-stream";
    const file = `${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`;
    return [encodeUtf8(file), Blob.content(value), encodeUtf8("\r\n")];
  });
  return {
    bytes: joinedBytes([...parts, encodeUtf8(`--${boundary}--\r\n`)]),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}

/** Parses a body with this content type as a form. Throws a `TypeError` if it is not a form. */
export function decodeForm(bytes: Uint8Array, type: string): FormData {
  const form = new FormData();
  if (/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type)) {
    for (const [name, value] of new URLSearchParams(decodeUtf8(bytes, true))) {
      form.append(name, value);
    }
    return form;
  }
  const [, boundary = ""] = /^multipart\/form-data\s*;.*?\bboundary="?([^";]+)/i.exec(type) ?? [];
  const wrong = new TypeError(
    "The body is not a form: its content type is neither multipart/form-data with a boundary nor application/x-www-form-urlencoded, or it is cut off.",
  );
  const parts = `\r\n${binaryOf(bytes)}`.split(`\r\n--${boundary}`);
  if (boundary === "" || parts.length < 2 || !parts.at(-1)!.startsWith("--")) throw wrong;
  const textOf = (binary: string) => decodeUtf8(bytesOf(binary), true);
  for (const part of parts.slice(1, -1)) {
    const end = part.indexOf("\r\n\r\n");
    const head = textOf(part.slice(0, end));
    const content = part.slice(end + 4);
    const field = (name: string) =>
      new RegExp(`;\\s*${name}="([^"]*)"`, "i").exec(head)?.[1]?.replace(/%0D%0A|%22/gi, unquoted);
    const name = field("name");
    if (end < 0 || name === undefined) throw wrong;
    const filename = field("filename");
    const [, kind = "text/plain"] = /^content-type:\s*(.*)$/im.exec(head) ?? [];
    form.append(
      name,
      filename === undefined
        ? textOf(content)
        : new File([bytesOf(content)], filename, { type: kind }),
    );
  }
  return form;
}

const unquoted = (code: string) => (code === "%22" ? '"' : "\r\n");
