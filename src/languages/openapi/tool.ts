/** Converts an operation of a description to a tool. */
import { isObject } from "../../server/kernel/core/model.ts";
import {
  isPlain,
  type ToolRequest,
  type ApiTool,
  type Argument,
  type FixedMember,
  type OutputMember,
  type Place,
} from "./api-tool.ts";
import type { ApiCredentials } from "./credentials.ts";
import type {
  Description,
  EncodingObject,
  MediaType,
  Parameter,
  RequestBody,
  ResponseObject,
} from "./description.ts";
import type { Operation } from "./operations.ts";
import { pagingOf } from "./paging.ts";
import { sampleCall } from "./sample.ts";
import { withDescription, isClosed, Schemas, type Shape } from "./schemas.ts";
import { argumentName, UniqueNames, isSameName, sentences, snake } from "./words.ts";

/** Maximum length of a tool's description, in characters. */
const DESCRIPTION = 300;
/** Maximum number of members in a printed output schema: responses seldom match larger schemas. */
const MOST_OUTPUT = 15;

/** Thrown for an operation that cannot become a tool; the message gives the reason. */
export class LeftOut extends Error {}

/** True for a query parameter or header that carries credentials. */
const isSecret = ({ name, in: at, description = "" }: Parameter): boolean =>
  at !== "path" &&
  (/^(x-)?(access|api|auth)[-_]?(token|key)$/i.test(name) ||
    (/^(x-)?token$/i.test(name) && /\bauth|scope/i.test(description)));

/** The parts of the servlet that its tools share. */
interface ServletParts {
  description: Description;
  schemas: Schemas;
  credentials: ApiCredentials;
  isAnonymous: boolean;
}

/** The tool of an operation. Throws a `LeftOut`. */
export function toolOf(operation: Operation, around: ServletParts): ApiTool {
  return new ToolMaker(operation, around).tool();
}

class ToolMaker {
  readonly #operation: Operation;
  readonly #around: ServletParts;
  /** The path of its requests. */
  readonly #path: string;
  readonly #parameters: readonly Parameter[];
  /** Arguments by place and key: `query limit`. */
  readonly #arguments = new Map<string, Argument>();
  readonly #names = new UniqueNames();
  readonly #notes: string[] = [];
  readonly #fixed: FixedMember[] = [];
  /** The place of a body that allows additional members, and the schema of these members. */
  #open: { place: Place; schema: unknown } | undefined;

  constructor(operation: Operation, around: ServletParts) {
    this.#operation = operation;
    this.#around = around;
    this.#parameters = this.#usableParameters();
    this.#path = this.#requestPath();
  }

  tool(): ApiTool {
    const { method, name } = this.#operation;
    const { schemas, isAnonymous } = this.#around;
    const depth = this.#addArguments();
    const response = this.#response();
    const answer = response === undefined ? undefined : jsonIn(response.content ?? {});
    if (response?.content !== undefined && answer === undefined) {
      const [type] = Object.keys(response.content);
      if (type !== undefined) this.#fix("headers", "accept", type);
    }
    const isRead = method === "get";
    const isJson = answer !== undefined || response?.content === undefined;
    const output = answer === undefined ? undefined : this.#outputOf(answer);
    const paging =
      isRead && isJson
        ? pagingOf(answer, response, [...this.#arguments.values()], schemas)
        : undefined;
    // The argument that `next` replaces may itself be named `next`.
    const replaced = this.#arguments.get(`query ${paging?.cursor ?? "page"}`);
    const has = (wanted: string) =>
      [...this.#arguments.values()].some((one) => one !== replaced && one.name === wanted);
    const takesNext = paging !== undefined && !has("next");
    if (takesNext) this.#arguments.delete(`query ${replaced?.key}`);
    const takesFields = isRead && isJson && output === undefined && !has("fields");
    const args = [...this.#arguments.values()];
    const rest = this.#restOf(args);
    for (const one of args) {
      // If the name is inherited, such as `constructor`, a missing argument would have the inherited value.
      if (one.place !== rest && !one.isRequired && one.name in {})
        one.name = this.#names.take(inPlace(one.place, one.name));
    }
    const path = this.#pathParts();
    return {
      name,
      description: this.#description(),
      annotations: annotationsOf(this.#operation),
      arguments: args,
      additional: this.#open && { schema: this.#open.schema, depth },
      output,
      request: { method, path, fixed: this.#fixed, rest, isAnonymous },
      takesFields,
      paging: takesNext ? paging : undefined,
      sample: sampleCall(args, path, schemas),
      notes: this.#notes.map((note) => `${name}: ${note}`),
    };
  }

  /** Adds the arguments. Returns the depth to which their schemas are printed. */
  #addArguments(): number {
    const { method, object } = this.#operation;
    const { schemas } = this.#around;
    const parameters = this.#parameters;
    // A GET request has no body, even if the description gives one.
    const body =
      method === "get" || object.requestBody === undefined
        ? undefined
        : this.#resolved<RequestBody>(object.requestBody);
    const media = body === undefined ? undefined : chosenMedia(body.content);
    const depth = schemas.depthFor([...parameters.map(({ schema }) => schema), media?.schema]);
    for (const parameter of parameters) this.#addParameter(parameter, depth);
    for (const [, key] of this.#path.matchAll(IN_PATH)) {
      if (this.#arguments.has(`path ${key}`)) continue;
      this.#addParameter(
        { name: key!, in: "path", required: true, schema: { type: "string" } },
        depth,
      );
    }
    if (body !== undefined && media !== undefined) this.#addBody(body, media, depth);
    return depth;
  }

  #resolved<T extends object>(value: T | { $ref: string }): T {
    return this.#around.description.resolved<T>(value);
  }

  /** The parameters that become arguments. An operation's parameter overrides one of its path. */
  #usableParameters(): Parameter[] {
    const { item, object } = this.#operation;
    const all = [...(item.parameters ?? []), ...(object.parameters ?? [])].map((one) =>
      this.#resolved<Parameter>(one),
    );
    const byName = new Map(all.map((one) => [`${one.in} ${one.name}`, one]));
    const hasCredentials = this.#around.credentials.schemes.length > 0;
    return [...byName.values()].filter((one) => {
      if (one.in === "header" && /^(accept|content-type|authorization)$/i.test(one.name))
        return false;
      if (hasCredentials && isSecret(one)) {
        this.#notes.push(`without \`${one.name}\`, since the servlet has credentials`);
        return false;
      }
      if (one.in !== "cookie") return true;
      if (one.required) throw new LeftOut(`it needs the cookie ${one.name}`);
      this.#notes.push(`without the cookie \`${one.name}\``);
      return false;
    });
  }

  /** The path without its query and fragment. Some descriptions use fragments to distinguish operations. */
  #requestPath(): string {
    const [whole = ""] = this.#operation.path.split("#");
    const [path, ...queries] = whole.split("?");
    const keys = new Set(
      this.#parameters.filter((one) => one.in === "query").map(({ name }) => name),
    );
    const isAdded = (pair: string) => keys.has(/^[^=]*=\{([^{}]+)\}$/.exec(pair)?.[1] ?? "");
    const query = queries
      .join("?")
      .split("&")
      .filter((pair) => pair !== "" && !isAdded(pair));
    return query.length === 0 ? path! : `${path}?${query.join("&")}`;
  }

  /** Adds a fixed member to each request: this text, or a new UUID. */
  #fix(place: Place, key: string, text?: string): void {
    this.#fixed.push({ place, key, text });
  }

  /** The path of the request: literal texts, and arguments after the prefixes of their styles. */
  #pathParts(): ToolRequest["path"] {
    return this.#path
      .split(IN_PATH)
      .flatMap((part, at) =>
        at % 2 === 0 ? part : [this.#prefixOf(part), this.#arguments.get(`path ${part}`)!],
      );
  }

  /** Generates an idempotency key in each call. Returns false if the member is not an idempotency key. */
  #fixIdempotencyKey(place: Place, key: string, shape: Shape, about = ""): boolean {
    const { type, keywords, isNullable } = shape;
    const text = `${key} ${about} ${String(keywords["description"])}`;
    const isKey = /^(x-)?idempoten/i.test(key) || (REQUEST_ID.test(key) && /idempoten/i.test(text));
    const { maxLength = 36, pattern } = keywords;
    const fits =
      type === "string" && !isNullable && pattern === undefined && Number(maxLength) >= 36;
    if (!isKey || !fits || this.#operation.method === "get") return false;
    this.#fix(place, key);
    this.#notes.push(`its \`${key}\` is a new one in each call`);
    return true;
  }

  #addParameter(parameter: Parameter, depth: number): void {
    const { name: key, in: at, required = at === "path", description } = parameter;
    const { schemas } = this.#around;
    const [[type, content] = ["", undefined]] = Object.entries(parameter.content ?? {});
    const schema = content?.schema ?? parameter.schema ?? {};
    const shape = schemas.shapeOf(schema);
    const place = at === "header" ? "headers" : (at as "path" | "query");
    if (at === "header" && this.#fixIdempotencyKey(place, key, shape, description)) return;
    const { name, about } = this.#named(place, key, description);
    const style = content === undefined ? this.#styleOf(parameter, shape) : undefined;
    // In a path, all values except simple values and lists of them are strings.
    const items = schemas.shapeOf(shape.keywords["items"], shape.references);
    if (
      place === "path" &&
      !isScalar(shape.type === "array" && !shape.isNullable ? items : shape)
    ) {
      const code = withDescription("z.string()", schemas.describe(shape, about));
      const text = schemas.shapeOf({ type: "string" });
      this.#add({ name, key, place, isRequired: required, schema: code, shape: text });
      return;
    }
    const code = schemas.codeOf(schema, depth, about);
    const conversion = JSON_TYPE.test(type) && place !== "path" ? "json" : undefined;
    this.#add({ name, key, place, isRequired: required, schema: code, shape, style, conversion });
  }

  /** The style of a parameter; undefined for the client's default. Throws a `LeftOut` for an unsupported path style. */
  #styleOf({ in: at, name, ...given }: Parameter, shape: Shape): EncodingObject | undefined {
    const { type } = shape;
    const { style = "simple", explode = false } = given;
    if (at === "path") {
      if (type === "object" || (type === "array" && explode && style !== "simple")) {
        throw new LeftOut(`its path has \`${name}\` in the style ${style}`);
      }
      return undefined;
    }
    if (at === "header") return explode && type === "object" ? { explode } : undefined;
    return this.#styleInQuery(given, shape);
  }

  /** The style of lists and objects in a query or form: https://spec.openapis.org/oas/v3.1.1.html#style-values */
  #styleInQuery(
    { style = "form", explode = style === "form", allowReserved }: EncodingObject,
    { type, choices, references }: Shape,
  ): EncodingObject | undefined {
    const { schemas } = this.#around;
    const types = [type, ...choices.map((one) => schemas.shapeOf(one, references).type)];
    const own: EncodingObject = {};
    if (types.some((one) => ["array", "object", "any"].includes(one))) {
      if (style !== "form") own.style = style;
      // By default, the client repeats the name for each item of a list, and sends an object as JSON.
      const isUsual = style === "form" ? explode && !types.includes("object") : !explode;
      if (!isUsual && style !== "deepObject") own.explode = explode;
    }
    if (allowReserved === true) own.allowReserved = true;
    return Object.keys(own).length === 0 ? undefined : own;
  }

  /** The encoding of a member of a form: https://spec.openapis.org/oas/v3.1.1.html#encoding-object */
  #encodingOf(
    place: Place,
    given: EncodingObject | undefined,
    shape: Shape,
  ): EncodingObject | undefined {
    if (given === undefined || place === "json") return undefined;
    const { style, explode, allowReserved, contentType = "" } = given;
    if ([style, explode, allowReserved].some((one) => one !== undefined)) {
      return this.#styleInQuery(given, shape);
    }
    // All content types have the same schema, so use the first.
    const type = contentType.split(",")[0]!.trim();
    const isUsual = isScalar(shape)
      ? /^text\/plain$/i.test(type)
      : shape.type === "object" && JSON_TYPE.test(type);
    const isUsed = place === "multipart" || JSON_TYPE.test(type);
    return type === "" || type.includes("*") || isUsual || !isUsed
      ? undefined
      : { contentType: type };
  }

  /** The text that a parameter's style puts before its value in a path. */
  #prefixOf(key: string): string {
    const found = this.#parameters.find((one) => one.in === "path" && one.name === key);
    return { label: ".", matrix: `;${key}=` }[found?.style ?? ""] ?? "";
  }

  #addBody(body: RequestBody, { type, schema, encoding = {} }: ChosenMedia, depth: number): void {
    const { schemas } = this.#around;
    const { required: isRequired = false, description } = body;
    const shape = schemas.shapeOf(schema);
    const place = placeOf(type);
    const { name: whole, about } = this.#named(place, "body", description);
    if (place === "body") {
      this.#fix("headers", "content-type", type);
      const isText = /^text\/|xml$/.test(type);
      const text = schemas.describe(shape, about);
      const code = withDescription(
        "z.string()",
        isText ? text : `${text ? `${text} ` : ""}In base64.`,
      );
      this.#add({
        name: whole,
        key: "body",
        place,
        isRequired,
        schema: code,
        shape: schemas.shapeOf(BASE64),
        conversion: isText ? undefined : "bytes",
      });
      return;
    }
    if (type !== "application/json" && place === "json" && !type.includes("*")) {
      this.#fix("headers", "content-type", type);
    }
    const members = Object.entries(shape.properties).filter(
      ([name, one]) => name !== "__proto__" && schemas.shapeOf(one).keywords["readOnly"] !== true,
    );
    const isFlat = shape.type === "object" && members.length > 0 && !shape.isNullable && depth > 0;
    if (!isFlat) {
      const code = schemas.codeOf(schema, depth, about);
      this.#add({
        name: whole,
        key: "body",
        place,
        isRequired,
        schema: code,
        shape,
        isWhole: true,
      });
      return;
    }
    this.#open = openTo(shape, place);
    if (this.#open === undefined && !isClosed(shape)) {
      schemas.notes.add(
        "bodies may have members that the description does not name: to send them, make the `input` of the tool a z.looseObject",
      );
    }
    for (const [key, one] of members) {
      this.#addMember({ key, place, isRequired: shape.required.has(key) }, one, {
        depth: depth - 1,
        encoding: encoding[key],
      });
    }
  }

  #addMember(
    at: { key: string; place: Place; isRequired: boolean },
    schema: unknown,
    { depth, encoding }: { depth: number; encoding: EncodingObject | undefined },
  ): void {
    const { schemas } = this.#around;
    const { key, place } = at;
    const shape = schemas.shapeOf(schema);
    if (this.#fixIdempotencyKey(place, key, shape)) return;
    const { name, about } = this.#named(place, key);
    const style = this.#encodingOf(place, encoding, shape);
    const items =
      shape.type === "array" ? schemas.shapeOf(shape.keywords["items"], shape.references) : shape;
    if (place !== "multipart" || !isBinary(items)) {
      this.#add({ ...at, name, schema: schemas.codeOf(schema, depth, about), shape, style });
      return;
    }
    const base64 = shape === items ? BASE64 : { ...shape.keywords, items: BASE64 };
    const text = schemas.describe(shape, about);
    const inBase64 = `${text ? `${text} ` : ""}${shape === items ? "In" : "Each in"} base64.`;
    const code = withDescription(schemas.bareCodeOf(base64), inBase64);
    const conversion = shape === items ? "bytes" : "list of bytes";
    this.#add({ ...at, name, schema: code, shape: schemas.shapeOf(base64), conversion, style });
  }

  /** An argument's name and description. The description gives the name in the API if the argument's name differs. */
  #named(place: Place, key: string, description?: string) {
    const base = argumentName(key);
    const name = this.#names.take(base, inPlace(place, base));
    return { name, about: { description, ...(!isSameName(name, key) && { original: key }) } };
  }

  #add(argument: Argument): void {
    this.#arguments.set(`${argument.place} ${argument.key}`, argument);
  }

  /** The response object of a successful request. */
  #response(): ResponseObject | undefined {
    const responses = this.#operation.object.responses ?? {};
    const status = ["200", "201", "202", "2XX", "203", "206", "204"].find(
      (one) => one in responses,
    );
    const found = status === undefined ? responses["default"] : responses[status];
    return found && this.#resolved<ResponseObject>(found);
  }

  /** The members of a small, flat response schema; undefined for any other. */
  #outputOf(schema: unknown): OutputMember[] | undefined {
    const { schemas } = this.#around;
    const { type, properties, isNullable } = schemas.shapeOf(schema);
    const members = Object.entries(properties);
    if (type !== "object" || isNullable || members.length === 0 || members.length > MOST_OUTPUT)
      return undefined;
    const all = members.map(([name, one]) => {
      const shape = schemas.shapeOf(one);
      const own = OUTPUTS[shape.type === "values" ? typeof shape.values[0] : shape.type];
      if (own === undefined || name === "__proto__") return undefined;
      const keywords = { description: shape.keywords["description"] };
      return { name, type: own, description: schemas.describe({ ...shape, keywords }) };
    });
    return all.every((one) => one !== undefined) ? all : undefined;
  }

  #description(): string {
    const { method, path, object } = this.#operation;
    const { summary = "", description = "" } = object;
    const short = sentences(summary, DESCRIPTION);
    const long = sentences(description.replace(/^(#+ .*\n+)+/, ""), DESCRIPTION);
    if (short === "" || long.toLowerCase().startsWith(short.toLowerCase().replace(/\.$/, ""))) {
      return long || short || `${method.toUpperCase()} ${path}`;
    }
    if (long === "" || short.toLowerCase().startsWith(long.toLowerCase().replace(/\.$/, "")))
      return short;
    return sentences(`${short.replace(/[.:]$/, "")}. ${long}`, DESCRIPTION);
  }

  /** The place of the handler's rest property: the one with the most arguments that need no conversion. */
  #restOf(args: readonly Argument[]): Place | undefined {
    if (this.#open !== undefined) return this.#open.place;
    const counts = new Map<Place, number>();
    for (const one of args.filter(isPlain)) {
      if (["path", "headers", "body"].includes(one.place)) continue;
      // A name that objects inherit, such as `constructor`, works only in a rest property.
      const weight = one.name in {} ? args.length : 1;
      counts.set(one.place, (counts.get(one.place) ?? 0) + weight);
    }
    return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0];
  }
}

/** The name of an argument, prefixed with its place to make it unique. */
const inPlace = (place: Place, name: string): string =>
  `${place === "json" ? "body" : place}_${name}`;

/** A parameter in a path. Excluding braces from the name keeps matching linear. */
const IN_PATH = /\{([^{}]+)\}/g;

/** The schema of a base64 string, with an example for the generated test. */
const BASE64 = { type: "string", example: "ZXhhbXBsZQ==" };

/** The place and schema of the additional members of a body; undefined if the body does not declare any. */
function openTo({ keywords }: Shape, place: Place): { place: Place; schema: unknown } | undefined {
  const { additionalProperties: more = keywords["unevaluatedProperties"], patternProperties } =
    keywords;
  if (isObject(more) || more === true) return { place, schema: more };
  return isObject(patternProperties) ? { place, schema: true } : undefined;
}

/** Types of members in output schemas. */
const OUTPUTS: Readonly<Record<string, OutputMember["type"]>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
};

type ChosenMedia = MediaType & { type: string };

const JSON_TYPE = /^(application\/json|[^;]+\+json|\*\/\*|application\/\*)(;|$)/i;

/** Media types of bodies in order of preference. */
const BODIES = [
  /^application\/json(;|$)/i,
  JSON_TYPE,
  /^application\/x-www-form-urlencoded/i,
  /^multipart\/form-data/i,
  /^(text\/|application\/xml)/i,
  /^/,
];

function chosenMedia(content: Record<string, MediaType>): ChosenMedia | undefined {
  const types = Object.keys(content);
  const type = BODIES.map((kind) => types.find((one) => kind.test(one))).find(Boolean);
  return type === undefined ? undefined : { type, ...content[type] };
}

function placeOf(type: string): Place {
  if (JSON_TYPE.test(type)) return "json";
  if (/^application\/x-www-form-urlencoded/i.test(type)) return "form";
  return /^multipart\/form-data/i.test(type) ? "multipart" : "body";
}

/** The schema of a JSON response; undefined if there is none. */
function jsonIn(content: Record<string, MediaType>): unknown {
  const type = Object.keys(content).find((one) => JSON_TYPE.test(one));
  return type === undefined ? undefined : (content[type]?.schema ?? {});
}

const isScalar = ({ type, isNullable }: Shape): boolean =>
  !isNullable && ["string", "integer", "number", "boolean", "values"].includes(type);

/** True for a file in a form. A string with a content encoding is sent unchanged, so it is not a file. */
const isBinary = ({ type, keywords }: Shape): boolean =>
  keywords["format"] === "binary" ||
  ("contentMediaType" in keywords && !("contentEncoding" in keywords)) ||
  (type === "any" && Object.keys(keywords).length === 0);

/** Names of members that identify a request, so that it can be retried safely. */
const REQUEST_ID = /request[-_]?id$|client[-_]?(request[-_]?)?token$/i;

/** Verbs of operations that create or read data, and of operations that change or delete data. */
const ADDS =
  /^(add|append|create|find|get|import|insert|invite|list|new|query|register|search|send|start|submit|upload|validate)s?$/;
const CHANGES =
  /^(abort|archive|ban|block|cancel|change|clean|clear|close|deactivate|decline|delete|destroy|detach|disable|discard|drop|edit|end|erase|evict|expire|forget|kick|kill|merge|modify|move|overwrite|patch|purge|refund|reject|remove|rename|replace|reset|restore|revoke|rollback|rotate|set|stop|suspend|terminate|transfer|truncate|unassign|unpublish|unset|unsubscribe|update|upsert|void|wipe|write)s?$/;

/** True for a POST that changes or deletes data, judging by verbs in its id, summary and path, or a final parameter. */
function changesByPost({ path, object: { operationId = "", summary = "" } }: Operation): boolean {
  const words = (text: string) => snake(text).split("_");
  const own = words(operationId);
  const [first = ""] = words(summary.slice(0, 100));
  const last = path.slice(path.lastIndexOf("/") + 1);
  if ([...own, first, ...words(last)].some((word) => CHANGES.test(word))) return true;
  return last.endsWith("}") && ![own[0] ?? "", first].some((word) => ADDS.test(word));
}

/** The annotations of a tool, by its HTTP method. */
function annotationsOf(operation: Operation): ApiTool["annotations"] {
  const { method } = operation;
  if (method === "get") return { readOnlyHint: true };
  if (method === "post") return { destructiveHint: changesByPost(operation) };
  return { destructiveHint: true, ...(method !== "patch" && { idempotentHint: true }) };
}
