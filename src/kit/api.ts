/**
 * `edge-servlets/api`: a client for HTTP APIs, bundled only with the servlets that import it. `servlets new --openapi` writes
 * such servlets.
 */
import { isObject } from "../server/kernel/core/model.ts";
import { shortened } from "../server/kernel/core/text.ts";
import { type ApiKey, keysFor } from "./api-keys.ts";
import type { Context } from "./context.ts";
import { ToolError } from "./schema.ts";
import type { ContentBlock, ToolResult } from "./types.ts";

export type { ApiKey } from "./api-keys.ts";

/** Maximum characters of JSON or text in one result: about ten thousand tokens. */
const MOST = 40_000;
/** Maximum characters of an API's message in an error. */
const MOST_MESSAGE = 1000;
/** Maximum size of a file in a result, in bytes. */
const MOST_BYTES = 1024 * 1024;
/** Maximum number of retries of a request that the API asks for by `Retry-After`. */
const WAITS = 3;
/** Longest wait before a retry, in ms. */
const LONGEST_WAIT = 60_000;

/**
 * An API: its name in messages, its base URL, and the headers and credentials of every request.
 *
 * @example
 * const options: ApiOptions = { name: "GitHub", url: "https://api.github.com", account: "github" };
 * const github = defineApi(options);
 */
export interface ApiOptions {
  name: string;
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** One of `accounts` in the manifest: the server adds the caller's token for it. */
  account?: string;
  keys?: readonly ApiKey[];
}

/**
 * Parameters or members by name. A list repeats its name, an object becomes JSON; `undefined` and `null` are left out.
 *
 * @example
 * const query: Values = { state: "open", label: ["bug", "help"], since: undefined };
 */
export type Values = Readonly<Record<string, unknown>>;

/**
 * How a list or an object is serialized, in the terms of OpenAPI. `style` is `form` by default. `explode` is `true` by default
 * for `form` only: a list repeats its name, and each member of an object is a separate parameter.
 * https://spec.openapis.org/oas/v3.1.1.html#style-values
 *
 * @example
 * const ids: Style = { explode: false }; // ids=1,2,3
 */
export interface Style {
  style?: "form" | "spaceDelimited" | "pipeDelimited" | "deepObject";
  explode?: boolean;
  /** True to send reserved characters such as `/` and `:` unencoded. */
  allowReserved?: boolean;
}

/**
 * How a member of a form is serialized: in a style, or with a content type, which parts of `multipart` carry. With a content
 * type of JSON, a list is one JSON text.
 *
 * @example
 * const picture: Encoding = { contentType: "image/png" };
 */
export interface Encoding extends Style {
  contentType?: string;
}

/**
 * The parts of a request besides its path, with at most one body, and how its response is read.
 *
 * @example
 * const request: ApiRequest = { query: { state: "open" }, fields: ["id", "user.login"] };
 */
export interface ApiRequest {
  query?: Values;
  /** The items of lists and the members of objects are joined by commas. */
  headers?: Values;
  /** The styles of parameters in `query` and `headers`, by name. */
  styles?: Readonly<Record<string, Style>>;
  /** A body as JSON. */
  json?: unknown;
  /** A body as `application/x-www-form-urlencoded`. */
  form?: Values;
  /** A body as `multipart/form-data`; bytes are files, and objects are JSON. */
  multipart?: Values;
  /** How members of `form` and `multipart` are serialized, by name. */
  encoding?: Readonly<Record<string, Encoding>>;
  /** A raw body; `headers` gives its content-type. */
  body?: string | Uint8Array<ArrayBuffer>;
  /** The members of the response to keep, such as `id` or `items.user.login`, also of each item of a list. All by default. */
  fields?: readonly string[] | undefined;
  /** The `next` of an earlier result: it replaces `query`, or becomes the query parameter `nextIn`. */
  next?: string | undefined;
  /** The query parameter for `next` if that is a cursor. */
  nextIn?: string;
  /**
   * Path of the response's member with the next page, such as `meta.next_cursor`; a list on the path stands for its last item
   * (`data.id`). By default the header `Link` has the next page.
   */
  nextAt?: string;
  /** True for a request without credentials. */
  anonymous?: boolean;
}

/**
 * An API client: each method makes a request and resolves with the tool's result.
 *
 * @example
 * const api: Api = defineApi({ name: "Example", url: "https://api.example.com" });
 */
export type Api = Record<
  "get" | "post" | "put" | "patch" | "delete",
  (context: Context, path: string, request?: ApiRequest) => Promise<ToolResult>
>;

/**
 * Makes a client of an API, for handlers. JSON becomes structured content, with a list as its member `items`; text, images and
 * files become content. A result with a next page has `next`. A response that is too large for a model is cut, and `note` says
 * how. If the API refuses a request with `Retry-After`, the request is repeated then, three times at most, each after a minute
 * at most; any other refusal throws a `ToolError` with the API's message.
 *
 * @example
 * import { defineApi, path } from "edge-servlets/api";
 * import { defineServlet } from "edge-servlets/servlet";
 * import * as z from "zod/mini";
 *
 * const github = defineApi({ name: "GitHub", url: "https://api.github.com" });
 *
 * export default defineServlet({
 *   tools: {
 *     list_issues: {
 *       description: "Lists the issues of a repository",
 *       input: z.object({ owner: z.string(), repo: z.string(), state: z.optional(z.string()) }),
 *       handler: ({ owner, repo, ...query }, context) =>
 *         github.get(context, path`/repos/${owner}/${repo}/issues`, { query }),
 *     },
 *   },
 * });
 */
export function defineApi(options: ApiOptions): Api {
  const call =
    (method: string) =>
    async (context: Context, to: string, request: ApiRequest = {}) => {
      const response = await send(options, context, { method, to, request });
      if (!response.ok) throw await refusal(options.name, response);
      return resultOf(response, options, request);
    };
  return {
    get: call("GET"),
    post: call("POST"),
    put: call("PUT"),
    patch: call("PATCH"),
    delete: call("DELETE"),
  };
}

/**
 * A path with encoded values; the items of a list are joined by commas. Throws a `ToolError` for a value that would lead to
 * another path: an empty one, `.` or `..`.
 *
 * @example
 * const [owner, repo] = ["ada", "a/b"];
 * path`/repos/${owner}/${repo}`; // → "/repos/ada/a%2Fb"
 */
export function path(
  parts: TemplateStringsArray,
  ...values: (string | number | boolean | readonly (string | number | boolean)[])[]
): string {
  const encoded = values.map((value) => [value].flat().map(percentEncoded).join(","));
  const whole = String.raw({ raw: parts }, ...encoded);
  const isOther = encoded.includes("") || /(^|\/)(\.|%2e){1,2}([/?#]|$)/i.test(whole);
  if (!isOther) return whole;
  throw new ToolError(
    `"${values.join('", "')}" cannot be in a path: each must be a name or an id.`,
  );
}

/**
 * Flattens lists and objects into parameters with brackets, such as `filter[state]=open`.
 *
 * @example
 * deepObject({ created: { gte: 5 }, expand: ["customer"] }); // → { "created[gte]": 5, "expand[0]": "customer" }
 */
export function deepObject(values: Values): Values {
  const flat: Record<string, unknown> = {};
  const add = (name: string, value: unknown): void => {
    if (typeof value !== "object" || value === null) flat[name] = value;
    else for (const [key, one] of Object.entries(value)) add(`${name}[${key}]`, one);
  };
  for (const [name, value] of Object.entries(values)) add(name, value);
  return flat;
}

type Answer = Awaited<ReturnType<Context["fetch"]>>;

interface Sent {
  method: string;
  /** The path below the API's URL. */
  to: string;
  request: ApiRequest;
}

/** Makes a request, and repeats it as the API asks (`Retry-After`). */
async function send(options: ApiOptions, context: Context, { method, to, request }: Sent) {
  const { name, url, account } = options;
  const headers = new Headers({ accept: "application/json", ...options.headers });
  for (const [key, value] of Object.entries(request.headers ?? {})) {
    const text = headerOf(value, styleOf(key, request.styles));
    if (text !== undefined) headers.set(key, text);
  }
  const query = queryOf(request);
  if (!request.anonymous) {
    const carried = await keysFor(context, name, options.keys);
    for (const [key, value] of carried.headers) headers.set(key, value);
    for (const [key, value] of carried.query) query.push({ name: key, values: [value] });
  }
  const body = bodyOf(request, headers);
  // A `next` that is a query contains the query of `to`.
  const below = isCursor(request) ? to : to.split("?")[0]!;
  const search = query.length === 0 ? "" : (below.includes("?") ? "&" : "?") + urlEncoded(query);
  const address = `${url}${below}${search}`;
  const given = account === undefined || request.anonymous ? {} : { account };
  for (let waits = 0; ; waits++) {
    const response = await context.fetch(address, { method, headers, body, ...given });
    const wait = waitOf(response);
    if (wait === undefined || wait > LONGEST_WAIT || waits === WAITS) return response;
    await context.sleep(wait);
  }
}

/** False if `next` is the query of a URL, which replaces all parameters. */
const isCursor = ({ next, nextIn }: ApiRequest): boolean =>
  next === undefined || (nextIn !== undefined && !next.startsWith("?"));

function queryOf(request: ApiRequest): Pair[] {
  const { query, styles, next, nextIn } = request;
  if (next === undefined) return pairsOf(query, styles);
  if (isCursor(request)) return pairsOf({ ...query, [nextIn!]: next }, styles);
  return [...new URLSearchParams(next)].map(([name, value]) => ({ name, values: [value] }));
}

/** The wait before a refused request is repeated, in ms; undefined if the API gives none. */
function waitOf({ status, headers }: Answer): number | undefined {
  const after = headers.get("retry-after");
  if (![403, 429, 503].includes(status) || after === null) return undefined;
  const wait = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(wait, 0);
}

/** A parameter: the texts of its value, and the delimiter between them. */
interface Pair {
  name: string;
  values: string[];
  by?: string;
  isReserved?: boolean | undefined;
}

const styleOf = <T extends Style>(name: string, all: Readonly<Record<string, T>> = {}) =>
  Object.hasOwn(all, name) ? all[name] : undefined;

/** Serializes values as parameters, each in its style. */
const pairsOf = (values: Values = {}, styles?: Readonly<Record<string, Encoding>>): Pair[] =>
  Object.entries(values)
    .filter(([, value]) => isThere(value))
    .flatMap(([name, value]) => pairsIn(name, value, styleOf(name, styles)));

/** Serializes one value; an empty list or object gives no parameter. https://www.rfc-editor.org/rfc/rfc6570#section-2.3 */
function pairsIn(name: string, value: unknown, own: Encoding | undefined): Pair[] {
  const { style = "form", explode = style === "form", allowReserved: isReserved } = own ?? {};
  const pairs = (members: readonly (readonly [string, string])[]) =>
    members.map(([key, text]): Pair => ({ name: key, values: [text], isReserved }));
  const repeated = (items: readonly string[]) => pairs(items.map((item) => [name, item]));
  if (own?.contentType !== undefined) return repeated(textsAs(own.contentType, value));
  if (own === undefined || typeof value !== "object") return repeated(itemsOf(value));
  if (style === "deepObject") return pairs(membersIn(deepObject({ [name]: value })));
  const members = isObject(value) ? membersIn(value) : undefined;
  if (explode) return members ? pairs(members) : repeated(itemsOf(value));
  const items = members?.flat() ?? itemsOf(value);
  return items.length === 0 ? [] : [{ name, values: items, by: DELIMITERS[style], isReserved }];
}

/** The encoded delimiter between the items of a list that does not repeat its name. */
const DELIMITERS = { form: ",", spaceDelimited: "%20", pipeDelimited: "%7C" } as const;

const isThere = (value: unknown) => value !== undefined && value !== null;

/** The items of a list as texts; for another value, its text. */
const itemsOf = (value: unknown): string[] => [value].flat().filter(isThere).map(textOf);

const membersIn = (value: Values): [string, string][] =>
  Object.entries(value)
    .filter(([, one]) => isThere(one))
    .map(([key, one]) => [key, textOf(one)]);

/** The value of a header; lists and objects in the style `simple`, without percent-encoding. */
function headerOf(value: unknown, { explode = false }: Style = {}): string | undefined {
  const items = isObject(value)
    ? membersIn(value).map((pair) => pair.join(explode ? "=" : ","))
    : itemsOf(value);
  return items.length === 0 ? undefined : items.join(",");
}

const urlEncoded = (pairs: readonly Pair[]): string =>
  pairs
    .map(({ name, values, by = ",", isReserved }) => {
      const texts = values.map(isReserved ? reservedEncoded : percentEncoded);
      return `${percentEncoded(name)}=${texts.join(by)}`;
    })
    .join("&");

/** Percent-encodes all but the unreserved characters. https://www.rfc-editor.org/rfc/rfc6570#section-3.2.1 */
const percentEncoded = (text: string | number | boolean): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Percent-encodes a text, except for reserved characters without a meaning in a query, and for what is encoded already. */
const reservedEncoded = (text: string): string =>
  text
    .split(/(%[\dA-Fa-f]{2})/)
    .map((part, at) =>
      at % 2 === 1 ? part : encodeURI(part).replaceAll(/[#&+=]/g, encodeURIComponent),
    )
    .join("");

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

/** The texts of a value with this content type: one JSON text, or a text for each item of a list. */
const textsAs = (type: string, value: unknown): string[] =>
  /[/+]json(;|$)/i.test(type) ? [JSON.stringify(value)] : itemsOf(value);

function bodyOf({ json, form, multipart, body, encoding }: ApiRequest, headers: Headers) {
  const ofType = <T>(type: string, content: T) => {
    if (!headers.has("content-type")) headers.set("content-type", type);
    return content;
  };
  if (json !== undefined) return ofType("application/json", JSON.stringify(json));
  if (form !== undefined) {
    return ofType("application/x-www-form-urlencoded", urlEncoded(pairsOf(form, encoding)));
  }
  if (multipart === undefined) return body;
  const boundary = `----edge-servlets-${crypto.randomUUID()}`;
  const parts = Object.entries(multipart).flatMap(([name, value]) =>
    partsOf(name, value, styleOf(name, encoding)),
  );
  const bytes = parts.flatMap((part) => bytesOf(part, boundary));
  bytes.push(new TextEncoder().encode(`--${boundary}--\r\n`));
  return ofType(`multipart/form-data; boundary=${boundary}`, joined(bytes));
}

/** A part of a form; bytes are a file. */
interface Part {
  name: string;
  content: string | Uint8Array;
  type?: string | undefined;
}

/** The parts of a form's member. https://spec.openapis.org/oas/v3.1.1.html#encoding-multipart-media-types */
function partsOf(name: string, value: unknown, own: Encoding | undefined): Part[] {
  const type = own?.contentType;
  if (own !== undefined && type === undefined) {
    return pairsIn(name, value, own).map(({ name: key, values, by = "" }) => ({
      name: key,
      content: values.join(decodeURIComponent(by)),
    }));
  }
  const items = [value].flat().filter(isThere);
  if (type !== undefined && !items.some((one) => one instanceof Uint8Array)) {
    return items.length === 0
      ? []
      : textsAs(type, value).map((content) => ({ name, content, type }));
  }
  return items.map((one): Part => {
    if (one instanceof Uint8Array) {
      return { name, content: one, type: type ?? "application/octet-stream" };
    }
    const isJson = typeof one === "object";
    return { name, content: textOf(one), type: isJson ? "application/json" : undefined };
  });
}

/** Serializes a part. `FormData` cannot: it makes a file of each part that has a content type. */
function bytesOf({ name, content, type }: Part, boundary: string): Uint8Array[] {
  const encode = (text: string) => new TextEncoder().encode(text);
  const quoted = `"${name.replaceAll(/[\r\n"]/g, encodeURIComponent)}"`;
  const file = typeof content === "string" ? "" : `; filename=${quoted}`;
  const kind = type === undefined ? "" : `\r\nContent-Type: ${type}`;
  const disposition = `Content-Disposition: form-data; name=${quoted}${file}`;
  return [
    encode(`--${boundary}\r\n${disposition}${kind}\r\n\r\n`),
    typeof content === "string" ? encode(content) : content,
    encode("\r\n"),
  ];
}

function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** The error for a refused request, with the API's own message if it has one. */
async function refusal(api: string, response: Answer): Promise<ToolError> {
  const text = await response.text();
  const message = messageIn(jsonIn(text) ?? text);
  const wait = waitOf(response);
  const hint = wait === undefined ? "" : ` Try again in ${Math.ceil(wait / 1000)} seconds.`;
  const status = `${response.status} ${response.statusText}`.trim();
  return new ToolError(
    `${api} answered ${status}${message ? `: ${shortened(message, MOST_MESSAGE)}` : "."}${hint}`,
  );
}

/** The message in an error's body, from the members that APIs use for it; "" for an HTML page, which comes from a proxy. */
function messageIn(body: unknown): string {
  if (typeof body === "string") return body.trimStart().startsWith("<") ? "" : body.trim();
  if (!isObject(body)) return Array.isArray(body) ? messageIn(body[0]) : "";
  const { error, errors, details = errors } = body;
  const keys = ["message", "error_description", "description", "detail", "title", "msg", "reason"];
  const own = keys.map((key) => body[key]).find((one) => typeof one === "string" && one !== "");
  const inner = messageIn(error);
  const said = own === undefined ? inner : messageIn(own);
  const more = isObject(details) || Array.isArray(details) ? JSON.stringify(details) : "";
  return [said, more].filter((one) => one !== "").join(" ");
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function resultOf(
  response: Answer,
  { name, keys = [] }: ApiOptions,
  request: ApiRequest,
): Promise<ToolResult> {
  const type = (response.headers.get("content-type") ?? "").split(";")[0]!.trim().toLowerCase();
  const isText = type === "" || type.startsWith("text/") || /[/+](json|xml)$/.test(type);
  if (!isText) return { content: [fileOf(new Uint8Array(await response.arrayBuffer()), response)] };
  const text = await response.text();
  if (text === "") return { content: [{ type: "text", text: `${name}: done.` }] };
  const value = jsonIn(text);
  if (value === undefined) return { content: [{ type: "text", text: shortened(text, MOST) }] };
  // Some APIs refuse a request with the status 200.
  if (isObject(value) && value["ok"] === false)
    throw new ToolError(`${name} refused: ${messageIn(value) || textOf(value)}`);
  const next = nextOf(value, response, request, keys);
  const wanted = request.fields?.map((field) => field.split("."));
  // A tool with the argument `fields` always passes it on, even if undefined.
  const takesFields = "fields" in request && !wanted;
  const { shown, note } = cut(wanted ? picked(value, wanted) : value, takesFields);
  const members = isObject(shown) ? shown : { [Array.isArray(shown) ? "items" : "value"]: shown };
  const structuredContent = { ...members, ...(next && { next }), ...(note && { note }) };
  const json = JSON.stringify(structuredContent);
  return { content: [{ type: "text", text: json }], structuredContent };
}

function fileOf(bytes: Uint8Array, { headers, url }: Answer): ContentBlock {
  const mimeType = headers.get("content-type") ?? "application/octet-stream";
  if (bytes.length > MOST_BYTES) {
    throw new ToolError(
      `The answer is a file of ${bytes.length} bytes (${mimeType}); the most is ${MOST_BYTES}.`,
    );
  }
  const data = bytes.toBase64();
  const [kind] = mimeType.split("/");
  if (kind === "image" || kind === "audio") return { type: kind, data, mimeType };
  // The query may contain a key.
  return { type: "resource", resource: { uri: url.split("?")[0]!, mimeType, blob: data } };
}

/** The next page: a cursor, or the query of its URL without the keys, which an API may repeat there. */
function nextOf(
  value: unknown,
  { headers }: Answer,
  { nextAt, nextIn }: ApiRequest,
  keys: readonly ApiKey[],
): string | undefined {
  const found =
    nextAt === undefined
      ? /<([^>]*)>[^,<]*;\s*rel="?next\b/i.exec(headers.get("link") ?? "")?.[1]
      : cursorAt(value, nextAt);
  if (found === undefined || found === "") return undefined;
  if (nextAt !== undefined && !/^(https?:\/\/|\/|\?)/.test(found)) return found;
  const isKey = (pair: string) =>
    keys.some(
      ({ as }) =>
        typeof as === "object" && "query" in as && new URLSearchParams(pair).has(as.query),
    );
  const [, query] = /\?([^#]*)/.exec(found) ?? [];
  // A cursor in base64 may begin with a slash; the question mark tells a query from a cursor.
  if (query === undefined) return nextIn === undefined ? undefined : found;
  const rest = query.split("&").filter((pair) => !isKey(pair));
  return (nextIn === undefined ? "" : "?") + rest.join("&");
}

/** Members that say whether there are more pages. */
const MORE = /^(more|has_?more|has_?next(_?page)?)$/i;

/** The cursor or URL at a path of names; undefined if the response, or an object on the path, says that there are no more. */
function cursorAt(value: unknown, at: string): string | undefined {
  // A name may contain dots, such as `@odata.nextLink`.
  const names = isObject(value) && at in value ? [at] : at.split(".");
  let inner = value;
  for (const name of names) {
    const one: unknown = Array.isArray(inner) ? inner.at(-1) : inner;
    if (!isObject(one)) return undefined;
    if (Object.entries(one).some(([key, flag]) => flag === false && MORE.test(key)))
      return undefined;
    inner = one[name];
  }
  return typeof inner === "number" ? String(inner) : typeof inner === "string" ? inner : undefined;
}

/** The value with only the members at these paths of names. */
function picked(value: unknown, fields: readonly (readonly string[])[]): unknown {
  if (Array.isArray(value)) return value.map((one) => picked(one, fields));
  if (!isObject(value)) return value;
  const names = [...new Set(fields.map(([name]) => name!))].filter((name) => name in value);
  return Object.fromEntries(
    names.map((name) => {
      const inner = fields.filter(([first]) => first === name).map(([, ...rest]) => rest);
      const whole = inner.some(({ length }) => length === 0);
      return [name, whole ? value[name] : picked(value[name], inner)] as const;
    }),
  );
}

/** Limits for a large response; the first that make it fit are used. */
const CUTS = [
  { text: 2000, items: 100, members: 200, depth: 8 },
  { text: 500, items: 50, members: 100, depth: 6 },
  { text: 200, items: 20, members: 40, depth: 4 },
  { text: 100, items: 10, members: 20, depth: 3 },
  { text: 50, items: 5, members: 10, depth: 2 },
];

/** Cuts a value to a size that suits a model; `note` says what was cut, and how to get the rest. */
function cut(value: unknown, takesFields: boolean): { shown: unknown; note?: string } {
  const { length } = JSON.stringify(value);
  if (length <= MOST) return { shown: value };
  let most = CUTS[0]!;
  let shown = value;
  for (most of CUTS) {
    shown = within(value, most, 0);
    if (JSON.stringify(shown).length <= MOST) break;
  }
  const advice = takesFields
    ? `Name the members that you need in \`fields\`. There are: ${membersOf(value).join(", ")}.`
    : "Ask for less.";
  const note = `Cut from ${length} characters: lists to ${most.items} items, texts to ${most.text} characters, objects to ${most.depth} levels of ${most.members} members. ${advice}`;
  return { shown, note };
}

function within(value: unknown, most: (typeof CUTS)[number], depth: number): unknown {
  if (typeof value === "string") return shortened(value, most.text);
  if (typeof value !== "object" || value === null) return value;
  const list = Array.isArray(value);
  if (depth === most.depth) return list ? `${value.length} items` : "…";
  if (list) return value.slice(0, most.items).map((one) => within(one, most, depth + 1));
  const members = Object.entries(value).slice(0, most.members);
  return Object.fromEntries(members.map(([key, one]) => [key, within(one, most, depth + 1)]));
}

/** The paths of a value's members; for lists, those of their first item's members. */
function membersOf(value: unknown): string[] {
  const names = Array.isArray(value)
    ? membersOf(value[0])
    : Object.entries(isObject(value) ? value : {}).flatMap(([key, one]) => {
        const inner = Array.isArray(one) ? membersOf(one) : [];
        return inner.length > 0 ? inner.map((name) => `${key}.${name}`) : [key];
      });
  return names.slice(0, 60);
}
