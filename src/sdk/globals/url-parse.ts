import { encode, FRAGMENT, PATH, QUERY, USER } from "./percent.ts";
import { hostOf } from "./url-host.ts";

/** https://url.spec.whatwg.org/#concept-url */
export interface UrlRecord {
  /** With its colon. */
  protocol: string;
  username: string;
  password: string;
  host: string | null;
  port: string;
  /** A string where it is opaque. */
  path: string[] | string;
  query: string | null;
  fragment: string | null;
}

/** The special schemes, with their default ports. */
const DEFAULT_PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
  "ws:": "80",
  "wss:": "443",
  "ftp:": "21",
  "file:": "",
};

export const isSpecial = (protocol: string): boolean => Object.hasOwn(DEFAULT_PORTS, protocol);

const DRIVE = /^[a-z][:|]$/i;
const DRIVE_AHEAD = /^[a-z][:|](?:[/\\?#]|$)/i;

/** Thrown by the parser, and caught where it is started. */
export class NotUrl extends Error {}

export function parseUrl(input: string, base: UrlRecord | undefined): UrlRecord {
  // oxlint-disable-next-line no-control-regex
  const text = input.replace(/^[\0- ]+|[\0- ]+$/g, "").replace(/[\t\n\r]/g, "");
  const [scheme] = /^[a-z][a-z\d+.-]*:/i.exec(text) ?? [];
  if (scheme === undefined) return relativeTo(base, text);
  const url = blank(scheme.toLowerCase());
  const rest = text.slice(scheme.length);
  if (url.protocol === "file:") return file(url, rest, base);
  if (isSpecial(url.protocol)) {
    if (base?.protocol === url.protocol && !rest.startsWith("//")) return relativeTo(base, rest);
    return authority(url, rest.replace(/^[/\\]+/, ""));
  }
  if (rest.startsWith("//")) return authority(url, rest.slice(2));
  if (rest.startsWith("/")) return path(url, rest);
  const [opaque, behind] = cut(rest, /[?#]/);
  url.path = encode(behind === "" ? opaque : opaque.replace(/ $/, "%20"), "");
  return queryAndFragment(url, behind);
}

const blank = (protocol: string): UrlRecord => ({
  protocol,
  username: "",
  password: "",
  host: null,
  port: "",
  path: [],
  query: null,
  fragment: null,
});

/** The text up to the first match, and from there. */
function cut(text: string, at: RegExp): [before: string, from: string] {
  const index = text.search(at);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index)];
}

function relativeTo(base: UrlRecord | undefined, text: string): UrlRecord {
  if (!base || (typeof base.path === "string" && !text.startsWith("#"))) throw new NotUrl();
  if (typeof base.path === "string") return queryAndFragment({ ...base, fragment: null }, text);
  if (base.protocol === "file:") return file(blank("file:"), text, base);
  const special = isSpecial(base.protocol);
  if (special ? /^[/\\]{2}/.test(text) : text.startsWith("//")) {
    return authority(blank(base.protocol), text.replace(special ? /^[/\\]+/ : "//", ""));
  }
  if (special ? /^[/\\]/.test(text) : text.startsWith("/")) {
    return path({ ...base, path: [], query: null, fragment: null }, text);
  }
  return onto(base, base.path, text);
}

/** A text without a leading slash, relative to this path. */
function onto(base: UrlRecord, above: readonly string[], text: string): UrlRecord {
  const url = { ...base, path: [...above], fragment: null };
  if (text === "" || text.startsWith("#")) return queryAndFragment(url, text);
  url.query = null;
  if (text.startsWith("?")) return queryAndFragment(url, text);
  shorten(url.protocol, url.path);
  return path(url, text);
}

function file(url: UrlRecord, text: string, base: UrlRecord | undefined): UrlRecord {
  url.host = "";
  const from = base?.protocol === "file:" && typeof base.path !== "string" ? base : undefined;
  const above = from ? (from.path as string[]) : [];
  if (/^[/\\]{2}/.test(text)) {
    const [name, rest] = cut(text.slice(2), /[/\\?#]/);
    if (DRIVE.test(name)) return path(url, text.slice(2));
    const host = name === "" ? "" : hostOf(name, true);
    if (host === undefined) throw new NotUrl();
    url.host = host === "localhost" ? "" : host;
    return path(url, rest);
  }
  if (/^[/\\]/.test(text)) {
    if (!from) return path(url, text);
    const [drive = ""] = above;
    const kept = !DRIVE_AHEAD.test(text.slice(1)) && /^[a-z]:$/i.test(drive) ? [drive] : [];
    return path({ ...url, host: from.host, path: kept }, text);
  }
  if (!from) return path(url, text);
  if (DRIVE_AHEAD.test(text)) return path({ ...url, host: from.host }, text);
  return onto(from, above, text);
}

function authority(url: UrlRecord, text: string): UrlRecord {
  const special = isSpecial(url.protocol);
  const [whole, rest] = cut(text, special ? /[/\\?#]/ : /[/?#]/);
  const at = whole.lastIndexOf("@");
  if (at >= 0) {
    const [user, password] = cut(whole.slice(0, at), /:/);
    url.username = encode(user, USER);
    url.password = encode(password.slice(1), USER);
  }
  const [, name = "", port] = HOST_AND_PORT.exec(whole.slice(at + 1)) ?? [];
  if (name === "" && (special || at >= 0 || port !== undefined)) throw new NotUrl();
  setHost(url, name);
  if (port !== undefined) setPort(url, port);
  return path(url, rest);
}

export const HOST_AND_PORT = /^((?:\[[^\]]*\]?|[^:[])*)(?::(.*))?$/s;

export function setHost(url: UrlRecord, name: string): void {
  const host = name === "" ? "" : hostOf(name, isSpecial(url.protocol));
  if (host === undefined) throw new NotUrl();
  url.host = host;
}

export function setPort(url: UrlRecord, port: string): void {
  if (!/^\d*$/.test(port) || Number(port) > 65_535) throw new NotUrl();
  const plain = port === "" ? "" : String(Number(port));
  url.port = plain === DEFAULT_PORTS[url.protocol] ? "" : plain;
}

function shorten(protocol: string, segments: string[]): void {
  const [first = ""] = segments;
  if (protocol === "file:" && segments.length === 1 && /^[a-z]:$/i.test(first)) return;
  segments.pop();
}

function path(url: UrlRecord, text: string): UrlRecord {
  const [segments, rest] = cut(text, /[?#]/);
  addPath(url, segments);
  return queryAndFragment(url, rest);
}

/** Adds the segments of `text` to the path of `url`. */
export function addPath(url: UrlRecord, text: string): void {
  const special = isSpecial(url.protocol);
  const parts = url.path as string[];
  if (text === "" && !special) return;
  const segments = text.replace(special ? /^[/\\]/ : /^\//, "").split(special ? /[/\\]/ : "/");
  segments.forEach((segment, index) => {
    const plain = segment.replace(/%2e/gi, ".");
    if (plain === "..") shorten(url.protocol, parts);
    if (plain !== "." && plain !== "..") {
      const drive = url.protocol === "file:" && parts.length === 0 && DRIVE.test(segment);
      parts.push(drive ? `${segment[0]}:` : encode(segment, PATH));
    } else if (index === segments.length - 1) {
      parts.push("");
    }
  });
}

function queryAndFragment(url: UrlRecord, text: string): UrlRecord {
  const [query, fragment] = cut(text, /#/);
  if (query !== "") url.query = encodeQuery(url, query.slice(1));
  if (fragment !== "") url.fragment = encode(fragment.slice(1), FRAGMENT);
  return url;
}

export const encodeQuery = (url: UrlRecord, query: string): string =>
  encode(query, isSpecial(url.protocol) ? `${QUERY}'` : QUERY);

export const pathOf = ({ path: parts }: UrlRecord): string =>
  typeof parts === "string" ? parts : parts.map((segment) => `/${segment}`).join("");

export function written(url: UrlRecord): string {
  const { protocol, username, password, host, port, query, fragment } = url;
  const user = password === "" ? username : `${username}:${password}`;
  const dot = host === null && url.path.length > 1 && url.path[0] === "" ? "/." : "";
  const place = host === null ? dot : `//${user && `${user}@`}${host}${port && `:${port}`}`;
  return (
    protocol +
    place +
    pathOf(url) +
    (query === null ? "" : `?${query}`) +
    (fragment === null ? "" : `#${fragment}`)
  );
}
