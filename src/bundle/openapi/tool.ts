/** Writes the tool of one operation: its input, and a handler that makes the request. */
import { isObject, type Json } from "../../core/model.ts";
import { arrayLength, numberOf, textOf } from "../../schema/example.ts";
import type { Credentials } from "./credentials.ts";
import type {
  Description,
  MediaType,
  Parameter,
  RequestBody,
  ResponseObject,
} from "./description.ts";
import type { Operation } from "./operations.ts";
import { pagingOf, type Paging } from "./paging.ts";
import { described, Schemas, type Shape } from "./schemas.ts";
import { nameWithin, sentences, snake } from "./words.ts";

/** Characters of a tool's description. */
const DESCRIPTION = 300;
/** The most members of an answer whose schema is written: APIs keep to it where answers are small. */
const MOST_OUTPUT = 15;

/** A tool of the servlet. */
export interface GeneratedTool {
  name: string;
  /** The zod schemas of its arguments, by their names. */
  inputs: Map<string, string>;
  /** Writes the tool, with these members of its input. */
  code(inputs: readonly string[]): string;
  /** Names that the code imports from `edge-servlets/api`. */
  imports: string[];
  /** Arguments for a call in a test, and the path of its request. */
  sample: { args: Json; method: string; path: string };
  notes: string[];
}

const FIELDS = `z.optional(z.array(z.string()).check(z.describe("Fields of the answer to keep, such as id or owner.name.")))`;
const NEXT = `z.optional(z.string().check(z.describe("\`next\` of the previous answer, to get the page after it.")))`;

/** Why an operation cannot become a tool. */
export class LeftOut extends Error {}

type Place = "path" | "query" | "headers" | "json" | "form" | "multipart" | "body";

interface Argument {
  /** Its name in the tool. */
  name: string;
  /** Its name in the API. */
  key: string;
  place: Place;
  isRequired: boolean;
  /** Its schema in zod. */
  code: string;
  shape: Shape;
  /** Writes its value in the request; by default the variable itself. Code that begins with `...` gives several members. */
  value?: (local: string) => string;
  /** True if its lists and objects are sent with brackets (`deepObject`). */
  isDeep?: boolean;
}

/** The names of arguments that all clients accept. */
const NAME = /^[A-Za-z]\w{0,63}$/;
const LONGEST = 50;

/** Names that a variable of a handler cannot have. */
const TAKEN = new Set(
  `api path deepObject context z JSON Object Uint8Array arguments await break case catch class const
continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof
interface let new null package private protected public return static super switch this throw true try typeof undefined var void
while with yield`.split(/\s+/),
);

/** True for a parameter of the query or a header by which an API takes credentials. */
const isSecret = ({ name, in: at, description = "" }: Parameter): boolean =>
  at !== "path" &&
  (/^(x-)?(access|api|auth)[-_]?(token|key)$/i.test(name) ||
    (/^(x-)?token$/i.test(name) && /\bauth|scope/i.test(description)));

/** The servlet that the tool is a part of. */
interface Surroundings {
  description: Description;
  schemas: Schemas;
  credentials: Credentials;
  isAnonymous: boolean;
}

/** Writes the tool of an operation. Throws a `LeftOut`. */
export function toolOf(operation: Operation, around: Surroundings): GeneratedTool {
  return new ToolWriter(operation, around).tool();
}

class ToolWriter {
  readonly #operation: Operation;
  readonly #around: Surroundings;
  readonly #parameters: readonly Parameter[];
  readonly #arguments: Argument[] = [];
  readonly #notes: string[] = [];
  /** Headers with the same value in each request. */
  readonly #headers: [string, string][] = [];
  readonly #imports = new Set<string>();

  constructor(operation: Operation, around: Surroundings) {
    this.#operation = operation;
    this.#around = around;
    this.#parameters = this.#usableParameters();
  }

  tool(): GeneratedTool {
    const { method, path, name, object } = this.#operation;
    const { schemas } = this.#around;
    const parameters = this.#parameters;
    // A request that reads has no body, whatever the description says.
    const body =
      method === "get" || object.requestBody === undefined
        ? undefined
        : this.#resolved<RequestBody>(object.requestBody);
    const media = body === undefined ? undefined : chosenMedia(body.content);
    const depth = schemas.depthFor([...parameters.map(({ schema }) => schema), media?.schema]);
    for (const parameter of parameters) this.#addParameter(parameter, depth);
    for (const [, key] of path.matchAll(/\{([^}]+)\}/g)) {
      if (this.#arguments.some((one) => one.place === "path" && one.key === key)) continue;
      this.#addParameter(
        { name: key!, in: "path", required: true, schema: { type: "string" } },
        depth,
      );
    }
    if (body !== undefined && media !== undefined) this.#addBody(body, media, depth);

    const response = this.#response();
    const answer = response === undefined ? undefined : jsonIn(response.content ?? {});
    if (response?.content !== undefined && answer === undefined) {
      const [type] = Object.keys(response.content);
      if (type !== undefined) this.#headers.push(["accept", type]);
    }
    const isRead = method === "get";
    const isJson = answer !== undefined || response?.content === undefined;
    const output = answer === undefined ? undefined : this.#outputOf(answer);
    const paging =
      isRead && isJson ? pagingOf(answer, response, this.#arguments, schemas) : undefined;
    const has = (wanted: string) => this.#arguments.some((one) => one.name === wanted);
    const takesNext = paging !== undefined && !has("next");
    if (takesNext) this.#remove(paging.cursor ?? "page");
    const takesFields = isRead && isJson && output === undefined && !has("fields");
    const inputs = new Map(
      this.#arguments.map((one) => [
        one.name,
        one.isRequired ? one.code : `z.optional(${one.code})`,
      ]),
    );
    if (takesFields) inputs.set("fields", FIELDS);
    if (takesNext) inputs.set("next", NEXT);
    const handler = this.#handler(takesFields, takesNext ? paging : undefined);
    const code = (lines: readonly string[]) => {
      const input = lines.length > 1 ? `\n${lines.join(",\n")},\n` : ` ${lines.join("")} `;
      const members = [
        `description: ${JSON.stringify(this.#description())}`,
        ...(lines.length > 0 ? [`input: z.object({${input}})`] : []),
        ...(output === undefined ? [] : [`output: ${output}`]),
        `annotations: ${annotationsOf(this.#operation)}`,
        `handler: ${handler}`,
      ];
      return `${name}: {\n${members.join(",\n")},\n},`;
    };
    const required = this.#arguments.filter((one) => one.isRequired);
    const samples = required.map((one) => [one, sampleOf(one.shape, schemas)] as const);
    return {
      name,
      inputs,
      code,
      imports: [...this.#imports],
      sample: {
        args: Object.fromEntries(samples.map(([one, value]) => [one.name, value])),
        method: method.toUpperCase(),
        path: path.replaceAll(/\{([^}]+)\}/g, (_, key: string) => {
          const found = samples.find(([one]) => one.place === "path" && one.key === key);
          return (
            this.#prefixOf(key) +
            [found?.[1]]
              .flat()
              .map((value) => encodeURIComponent(String(value)))
              .join(",")
          );
        }),
      },
      notes: this.#notes.map((note) => `${name}: ${note}`),
    };
  }

  #resolved<T extends object>(value: T | { $ref: string }): T {
    return this.#around.description.resolved<T>(value);
  }

  /** The parameters of the operation and of its path that become arguments; of two with one name, the operation's. */
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

  #addParameter(parameter: Parameter, depth: number): void {
    const { name: key, in: at, required = at === "path", description } = parameter;
    const { schemas } = this.#around;
    const content = Object.values(parameter.content ?? {})[0];
    const schema = content?.schema ?? parameter.schema ?? {};
    const shape = schemas.shapeOf(schema);
    const place = at === "header" ? "headers" : (at as "path" | "query");
    const how = content === undefined ? this.#serialised(parameter, shape) : asJson;
    // In a path, anything but simple values and lists of them is a text.
    const items = schemas.shapeOf(shape.keywords["items"], shape.references);
    if (
      place === "path" &&
      !isScalar(shape.type === "array" && !shape.isNullable ? items : shape)
    ) {
      const code = described("z.string()", schemas.describe(shape, description));
      this.#add({
        key,
        place,
        isRequired: required,
        code,
        shape: schemas.shapeOf({ type: "string" }),
      });
      return;
    }
    const code = schemas.codeOf(schema, depth, description);
    this.#add({ key, place, isRequired: required, code, shape, ...how });
  }

  /** How a parameter's lists and objects are sent. https://spec.openapis.org/oas/v3.1.1.html#style-values */
  #serialised(
    { in: at, name, required = at === "path", ...given }: Parameter,
    { type, isNullable }: Shape,
  ): Partial<Argument> {
    const style = given.style ?? (at === "query" ? "form" : "simple");
    const explode = given.explode ?? style === "form";
    const isThere = required && !isNullable;
    const optional = isThere ? "" : "?";
    const joined = (by: string) => ({
      value: (local: string) => `${local}${optional}.join(${JSON.stringify(by)})`,
    });
    if (at === "path") {
      if (type === "object" || (type === "array" && explode && style !== "simple")) {
        throw new LeftOut(`its path has \`${name}\` in the style ${style}`);
      }
      return {};
    }
    if (style === "deepObject") return { isDeep: true };
    if (type === "array") {
      if (at === "header") return joined(",");
      if (explode) return {};
      return joined({ spaceDelimited: " ", pipeDelimited: "|" }[style] ?? ",");
    }
    if (type !== "object") return {};
    if (at === "query" && explode) return { value: (local) => `...${local}` };
    return {
      value: (local) => `${isThere ? "" : `${local} && `}Object.entries(${local}).flat().join(",")`,
    };
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
    if (place === "body") {
      this.#headers.push(["content-type", type]);
      const isText = /^text\/|xml$/.test(type);
      const text = schemas.describe(shape, description);
      const code = described("z.string()", isText ? text : `${text ? `${text} ` : ""}In base64.`);
      const value = isText ? undefined : bytesOf(isRequired);
      const sent = schemas.shapeOf(BASE64);
      this.#add({ key: "body", place, isRequired, code, shape: sent, ...(value && { value }) });
      return;
    }
    if (type !== "application/json" && place === "json" && !type.includes("*")) {
      this.#headers.push(["content-type", type]);
    }
    const members = Object.entries(shape.properties).filter(
      ([name, one]) => name !== "__proto__" && schemas.shapeOf(one).keywords["readOnly"] !== true,
    );
    const isFlat = shape.type === "object" && members.length > 0 && !shape.isNullable && depth > 0;
    if (!isFlat) {
      const code = schemas.codeOf(schema, depth, description);
      this.#add({ key: "body", place, isRequired, code, shape, value: (local) => local });
      return;
    }
    for (const [key, one] of members) {
      const inner = schemas.shapeOf(one);
      const isFile = place === "multipart" && isBinary(inner);
      const required = shape.required.has(key);
      const text = schemas.describe(inner);
      this.#add({
        key,
        place,
        isRequired: required,
        code: isFile
          ? described("z.string()", `${text ? `${text} ` : ""}In base64.`)
          : schemas.codeOf(one, depth - 1),
        shape: isFile ? schemas.shapeOf(BASE64) : inner,
        ...(isFile && { value: bytesOf(required) }),
        ...(encoding[key]?.style === "deepObject" && { isDeep: true }),
      });
    }
  }

  /** Adds an argument, under a name that is its own, and that clients and JavaScript accept. */
  #add(argument: Omit<Argument, "name">): void {
    const { key, place } = argument;
    const words = nameWithin(snake(key), LONGEST);
    const base = NAME.test(key) ? key : NAME.test(words) ? words : snake(`value ${words}`);
    const candidates = [base, `${place === "json" ? "body" : place}_${base}`];
    for (let count = 2; count < 100; count++) candidates.push(`${base}_${count}`);
    const isFree = (name: string) => this.#arguments.every((one) => one.name !== name);
    this.#arguments.push({ name: candidates.find(isFree)!, ...argument });
  }

  /** Removes a parameter of the query, which `next` replaces. */
  #remove(key: string): void {
    const at = this.#arguments.findIndex((one) => one.place === "query" && one.key === key);
    if (at >= 0) this.#arguments.splice(at, 1);
  }

  /** The description of the answer to a request that succeeds. */
  #response(): ResponseObject | undefined {
    const responses = this.#operation.object.responses ?? {};
    const status = ["200", "201", "202", "2XX", "203", "206", "204"].find(
      (one) => one in responses,
    );
    const found = status === undefined ? responses["default"] : responses[status];
    return found && this.#resolved<ResponseObject>(found);
  }

  /** The code of an answer's schema, if it is small and flat. APIs leave members out and add some, so it allows both. */
  #outputOf(schema: unknown): string | undefined {
    const { schemas } = this.#around;
    const { type, properties, isNullable } = schemas.shapeOf(schema);
    const members = Object.entries(properties);
    if (type !== "object" || isNullable || members.length === 0 || members.length > MOST_OUTPUT)
      return undefined;
    const lines = members.map(([name, one]) => {
      const shape = schemas.shapeOf(one);
      const code = OUTPUTS[shape.type === "values" ? typeof shape.values[0] : shape.type];
      const text = schemas.describe({
        ...shape,
        keywords: { description: shape.keywords["description"] },
      });
      return (
        code &&
        name !== "__proto__" &&
        `${JSON.stringify(name)}: ${described(`z.nullish(${code})`, text)},`
      );
    });
    return lines.every(Boolean) ? `z.looseObject({\n${lines.join("\n")}\n})` : undefined;
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

  #handler(takesFields: boolean, paging: Paging | undefined): string {
    const { method } = this.#operation;
    const groups = new Map<Place, Argument[]>();
    for (const one of this.#arguments)
      groups.set(one.place, [...(groups.get(one.place) ?? []), one]);
    // The largest group whose members are as the API has them is what is left of the arguments.
    const isPlain = (all: Argument[]) =>
      all.every(({ name, key, value, isDeep }) => name === key && !value && !isDeep);
    const isDeep = ([place, all]: [Place, Argument[]]) =>
      place === "form" &&
      all.some((one) => one.isDeep) &&
      all.every(({ name, key }) => name === key);
    const [rest] = [...groups]
      .filter(
        ([place, all]) =>
          !["path", "headers", "body"].includes(place) && (isPlain(all) || isDeep([place, all])),
      )
      .toSorted(([, a], [, b]) => b.length - a.length);
    const explicit = this.#arguments.filter((one) => one.place !== rest?.[0]);
    const names = new Set([...TAKEN, rest?.[0], ...explicit.map((one) => one.name)]);
    const locals = new Map(
      explicit.map((one) => {
        let local = one.name;
        if (TAKEN.has(local) || local === rest?.[0]) while (names.has(local)) local += "_";
        names.add(local);
        return [one, local];
      }),
    );
    const taken = [
      ...explicit.map((one) =>
        locals.get(one) === one.name ? one.name : `${one.name}: ${locals.get(one)}`,
      ),
      ...(takesFields ? ["fields"] : []),
      ...(paging === undefined ? [] : ["next"]),
    ];
    const own = rest?.[0];
    const first =
      taken.length === 0
        ? (own ?? "_")
        : `{ ${[...taken, ...(own === undefined ? [] : [`...${own}`])].join(", ")} }`;

    const entry = (one: Argument): string => {
      const local = locals.get(one)!;
      const value = one.value?.(local) ?? local;
      return value.startsWith("...") || value === one.key
        ? value
        : `${JSON.stringify(one.key)}: ${value}`;
    };
    const valuesOf = (place: Place, fixed: string[] = []): string | undefined => {
      if (place === own) {
        if (rest !== undefined && isDeep(rest)) return `${place}: ${this.#deep(place)}`;
        return fixed.length === 0 ? place : `${place}: { ...${place}, ${fixed.join(", ")} }`;
      }
      const all = groups.get(place) ?? [];
      const deep = all.filter((one) => one.isDeep).map(entry);
      const entries = [
        ...all.filter((one) => !one.isDeep).map(entry),
        ...(deep.length === 0 ? [] : [`...${this.#deep(`{ ${deep.join(", ")} }`)}`]),
        ...fixed,
      ];
      return entries.length === 0 ? undefined : `${place}: { ${entries.join(", ")} }`;
    };
    const wholeOf = (place: Place): string | undefined => {
      const [only, ...others] = groups.get(place) ?? [];
      if (only?.key !== "body" || others.length > 0 || !only.value) return valuesOf(place);
      return `${place}: ${only.value(locals.get(only)!)}`;
    };
    const [body] = groups.get("body") ?? [];
    const cursor = paging?.cursor;
    const request = [
      valuesOf("query", cursor === undefined ? [] : [`${JSON.stringify(cursor)}: next`]),
      valuesOf(
        "headers",
        this.#headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
      ),
      wholeOf("json"),
      wholeOf("form"),
      wholeOf("multipart"),
      body && (body.value ? `body: ${body.value(locals.get(body)!)}` : "body"),
      takesFields ? "fields" : undefined,
      paging !== undefined && cursor === undefined ? "next" : undefined,
      paging?.at === undefined ? undefined : `nextAt: ${JSON.stringify(paging.at)}`,
      this.#around.isAnonymous ? "anonymous: true" : undefined,
    ].filter((one) => one !== undefined);
    const parts = [
      "context",
      this.#pathCode(locals),
      ...(request.length > 0 ? [`{ ${request.join(", ")} }`] : []),
    ];
    return `(${first}, context) => api.${method}(${parts.join(", ")})`;
  }

  #deep(values: string): string {
    this.#imports.add("deepObject");
    return `deepObject(${values})`;
  }

  #pathCode(locals: ReadonlyMap<Argument, string>): string {
    const { path } = this.#operation;
    const inPath = [...locals].filter(([one]) => one.place === "path");
    if (inPath.length === 0) return JSON.stringify(path);
    this.#imports.add("path");
    const code = path
      .split(/(\{[^}]+\})/)
      .map((part) => {
        const key = /^\{([^}]+)\}$/.exec(part)?.[1];
        const local = inPath.find(([one]) => one.key === key)?.[1];
        if (key === undefined || local === undefined) return inTemplate(part);
        return `${inTemplate(this.#prefixOf(key))}\${${local}}`;
      })
      .join("");
    return `path\`${code}\``;
  }
}

/** A text as it stands in a template. */
const inTemplate = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll(/`|\$(?=\{)/g, "\\$&");

const asJson: Partial<Argument> = { value: (local) => `JSON.stringify(${local})` };

/** A text in base64, for tests. */
const BASE64 = { type: "string", example: "ZXhhbXBsZQ==" };

const bytesOf = (isRequired: boolean) => (local: string) =>
  `${isRequired ? "" : `${local} && `}Uint8Array.fromBase64(${local})`;

/** The code of members of small answers, by type. */
const OUTPUTS: Readonly<Record<string, string>> = {
  string: "z.string()",
  integer: "z.number()",
  number: "z.number()",
  boolean: "z.boolean()",
};

type ChosenMedia = MediaType & { type: string };

const JSON_TYPE = /^(application\/json|[^;]+\+json|\*\/\*|application\/\*)(;|$)/i;

/** Media types of bodies, the preferred first. */
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

/** The schema of an answer as JSON; undefined if it has none. */
function jsonIn(content: Record<string, MediaType>): unknown {
  const type = Object.keys(content).find((one) => JSON_TYPE.test(one));
  return type === undefined ? undefined : (content[type]?.schema ?? {});
}

const isScalar = ({ type, isNullable }: Shape): boolean =>
  !isNullable && ["string", "integer", "number", "boolean", "values"].includes(type);

/** True for a file in a form. */
const isBinary = ({ type, keywords }: Shape): boolean =>
  keywords["format"] === "binary" ||
  "contentMediaType" in keywords ||
  (type === "any" && Object.keys(keywords).length === 0);

const ADDS = /^(add|create|find|list|new|query|search|upload)_/;

/** The hints of a tool by its method, and for POST by the first word of the operation's id. */
function annotationsOf({ method, object }: Operation): string {
  if (method === "get") return "{ readOnlyHint: true }";
  if (method === "post") {
    const adds = ADDS.test(`${snake((object.operationId ?? "").replace(/^.*[/.]/, ""))}_`);
    return `{ destructiveHint: ${!adds} }`;
  }
  return `{ destructiveHint: true${method === "patch" ? "" : ", idempotentHint: true"} }`;
}

/** A value of this shape, for the test of a servlet. */
function sampleOf(shape: Shape, schemas: Schemas, depth = 0): unknown {
  const { keywords, values, type, properties, required, choices, references } = shape;
  const {
    example,
    examples,
    default: usual = example ?? (Array.isArray(examples) ? examples[0] : undefined),
  } = keywords;
  const kind = type === "integer" ? "number" : type;
  const inner = (schema: unknown) =>
    sampleOf(schemas.shapeOf(schema, references), schemas, depth + 1);
  if (values.length > 0) return values[0];
  if (typeof usual === kind && usual !== "" && !(type === "object")) return usual;
  switch (type) {
    case "string":
      return textOf(keywords);
    case "integer":
    case "number":
      return numberOf({ ...keywords, type });
    case "boolean":
      return true;
    case "array":
      return depth > 8 ? [] : Array(arrayLength(keywords)).fill(inner(keywords["items"]));
    case "choice":
      return depth > 8 ? "example" : inner(choices[0]);
    case "object":
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => required.has(name) && depth < 8)
          .map(([name, one]) => [name, inner(one)]),
      );
    default:
      return isObject(usual) ? usual : "example";
  }
}
