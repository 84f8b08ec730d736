/** Reads OpenAPI descriptions, 3.0 and newer, in YAML or JSON, from files and HTTPS URLs. */
import { readFile, stat } from "node:fs/promises";
import { Validator } from "@seriousme/openapi-schema-validator";
import { limits } from "../../tools/bundle/limits.ts";
import { isObject, type Json } from "../../server/kernel/core/model.ts";
import { percentDecoded } from "../../server/kernel/core/text.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { bodyOf, requestSource } from "../../tools/bundle/sources/http.ts";
import { valueInYaml } from "../../tools/bundle/yaml.ts";

/** The parts of a description that the generator uses. https://spec.openapis.org/oas/v3.1.1.html#openapi-object */
export interface Document {
  openapi: string;
  info: { title: string; version: string | number };
  servers?: ApiServer[] | null;
  paths: Record<string, Reference | PathItem>;
  components?: Record<string, Record<string, unknown>> | null;
  security?: SecurityRequirement[] | null;
}

export interface ApiServer {
  url: string;
  variables?: Record<string, { default: string }>;
}

export interface Reference {
  $ref: string;
}

/** The required scopes, by the name of the security scheme. */
export type SecurityRequirement = Record<string, string[]>;

export const HTTP_METHODS = ["get", "post", "put", "patch", "delete"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

export type PathItem = { [M in HttpMethod]?: OperationObject } & {
  parameters?: (Reference | Parameter)[];
  servers?: ApiServer[];
};

export interface OperationObject {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: (Reference | Parameter)[];
  requestBody?: Reference | RequestBody;
  responses?: Record<string, Reference | ResponseObject>;
  security?: SecurityRequirement[];
  servers?: ApiServer[];
}

/** How a value is serialised. https://spec.openapis.org/oas/v3.1.1.html#encoding-object */
export interface EncodingObject {
  contentType?: string;
  style?: string;
  explode?: boolean;
  allowReserved?: boolean;
}

export interface Parameter extends Omit<EncodingObject, "contentType"> {
  name: string;
  in: "path" | "query" | "header" | "cookie";
  description?: string;
  required?: boolean;
  schema?: unknown;
  content?: Record<string, MediaType>;
}

export interface MediaType {
  schema?: unknown;
  encoding?: Record<string, EncodingObject>;
}

export interface RequestBody {
  description?: string;
  required?: boolean;
  content: Record<string, MediaType>;
}

export interface ResponseObject {
  headers?: Record<string, unknown>;
  content?: Record<string, MediaType>;
}

/** https://spec.openapis.org/oas/v3.1.1.html#security-scheme-object */
export interface SecurityScheme {
  type: "apiKey" | "http" | "oauth2" | "openIdConnect" | "mutualTLS";
  name?: string;
  in?: "query" | "header" | "cookie";
  scheme?: string;
  openIdConnectUrl?: string;
  flows?: {
    authorizationCode?: { authorizationUrl: string; tokenUrl: string; scopes?: object };
  };
}

/** A description and its origin. */
export class Description {
  readonly from: string;
  readonly document: Document;

  constructor(from: string, document: Document) {
    this.from = from;
    this.document = document;
  }

  /** The base of relative URLs; undefined for a file. */
  get base(): URL | undefined {
    return isUrl(this.from) ? new URL(this.from) : undefined;
  }

  /** Resolves a reference; returns any other value unchanged. Throws a `Refusal` for a reference without a target. */
  resolved<T extends object>(value: T | Reference): T {
    let found: unknown = value;
    for (let steps = 0; isObject(found) && typeof found["$ref"] === "string"; steps++) {
      if (steps > 50) throw new Refusal(`${this.from}: ${found["$ref"]} refers to itself`);
      found = this.#at(found["$ref"]);
    }
    return found as T;
  }

  /** The `Refusal` for references to other documents. */
  #otherDocuments(references: readonly string[]): Refusal {
    const more = references.length > 3 ? ` and ${references.length - 3} more` : "";
    return new Refusal(
      `${this.from}: it refers to ${references.slice(0, 3).join(", ")}${more}, and other documents are not read: put all into one, for example by \`npx @redocly/cli bundle FILE -o openapi.yaml\``,
    );
  }

  #at(reference: string): unknown {
    if (!reference.startsWith("#/")) throw this.#otherDocuments([reference]);
    const found = namesIn(reference).reduce<unknown>(
      (at, name) =>
        typeof at === "object" && at !== null && Object.hasOwn(at, name)
          ? (at as Json)[name]
          : undefined,
      this.document,
    );
    if (found !== undefined) return found;
    throw new Refusal(
      `${this.from}: ${reference} is not in it: add it, or remove what refers to it`,
    );
  }

  /**
   * Validates these path items and everything they refer to, but not the rest of the document. Returns a note if one of
   * their schemas is invalid, since the other parts of such a schema can still be used.
   *
   * Throws a `Refusal` for references to other documents, and for anything else that is not valid OpenAPI.
   */
  async check(paths: Record<string, PathItem>): Promise<string[]> {
    const { openapi, info, servers, security } = this.document;
    const components = this.document.components ?? {};
    const { version } = info;
    const part = {
      openapi,
      servers,
      security,
      // YAML parses many versions as numbers.
      info: { ...info, version: typeof version === "number" ? String(version) : version },
      // No prototype, because a reference could name its members.
      paths: Object.assign(Object.create(null), paths) as Json,
      components: Object.create(null) as Record<string, Json>,
    };
    const schemes = components["securitySchemes"];
    if (schemes !== undefined) part.components["securitySchemes"] = schemes;
    const queue: unknown[] = [paths, schemes];
    const outside = new Set<string>();
    const known = new Set<string>();
    const seen = new Set<object>();
    for (const value of queue) {
      for (const reference of referencesIn(value, seen)) {
        if (known.has(reference)) continue;
        known.add(reference);
        if (!reference.startsWith("#/")) {
          outside.add(reference);
          continue;
        }
        const [first, second, third] = namesIn(reference);
        const target = this.#at(reference);
        queue.push(target);
        if (first === "paths") part.paths[second!] ??= this.document.paths[second!];
        else if (first === "components" && third !== undefined) {
          const some = (part.components[second!] ??= Object.create(null) as Json);
          some[third] ??= components[second!]?.[third];
          queue.push(components[second!]?.[third]);
        }
      }
    }
    if (outside.size > 0) throw this.#otherDocuments([...outside]);
    // Without formats: the URLs of providers are often templates, which are not valid URLs.
    const validator = new Validator({ allErrors: true, validateFormats: false });
    const { errors = [] } = await validator.validate(part);
    if (typeof errors === "string")
      throw new Refusal(`${this.from}: it is not valid OpenAPI ${openapi}: ${errors}`);
    // Each form that the schema allows gives an error. The deepest error is about the form that the author meant.
    const [error] = errors.toSorted(
      (a, b) => b.instancePath.split("/").length - a.instancePath.split("/").length,
    );
    if (error === undefined) return [];
    const where = `it is not valid OpenAPI ${openapi} at ${error.instancePath || "its root"}: it ${error.message}`;
    const isInSchema = /\/(schema|components\/schemas\/[^/]+)(\/|$)/.test(error.instancePath);
    if (!isInSchema) throw new Refusal(`${this.from}: ${where}`);
    return [`${where}. Such schemas were taken as far as they are understood.`];
  }
}

const isUrl = (from: string): boolean => /^https?:/i.test(from);

/** The member names that a reference within a document passes through. */
const namesIn = (reference: string): string[] =>
  reference
    .slice(2)
    .split("/")
    .map((name) => percentDecoded(name).replaceAll("~1", "/").replaceAll("~0", "~"));

/** Keywords whose objects and lists are data. Properties, and examples by name, may also have these names. */
const DATA = new Set(["example", "examples", "default", "enum", "const"]);

/** Members whose own member names are chosen by the description. */
const NAMES = new Set([
  "paths",
  "schemas",
  "properties",
  "patternProperties",
  "$defs",
  "parameters",
  "headers",
  "responses",
  "requestBodies",
  "securitySchemes",
  "content",
  "encoding",
  "scopes",
]);

/** Removes extensions. They are not used, and their references may lead to parts that OpenAPI does not define. */
function dropExtensions(document: Json): void {
  const seen = new Set<object>();
  const inner: { value: unknown; hasNames: boolean }[] = [{ value: document, hasNames: false }];
  for (const { value, hasNames } of inner) {
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const [key, member] of Object.entries(value)) {
      if (!hasNames && key.startsWith("x-")) delete (value as Json)[key];
      else if (hasNames || !DATA.has(key))
        inner.push({ value: member, hasNames: !hasNames && NAMES.has(key) });
    }
  }
}

/** All references in a value, at any depth, except in objects already seen. */
function referencesIn(value: unknown, seen: Set<object>): string[] {
  const found: string[] = [];
  const inner: unknown[] = [value];
  for (const one of inner) {
    if (typeof one !== "object" || one === null || seen.has(one)) continue;
    seen.add(one);
    if (Array.isArray(one)) for (const item of one as unknown[]) inner.push(item);
    if (!isObject(one)) continue;
    if (typeof one["$ref"] === "string") found.push(one["$ref"]);
    for (const [key, member] of Object.entries(one)) {
      if (!DATA.has(key) || !Array.isArray(member)) inner.push(member);
    }
  }
  return found;
}

/** Reads a description from a file or URL. Throws a `Refusal` if it is not an OpenAPI 3 description. */
export async function readDescription(from: string): Promise<Description> {
  const document = parsed(await textOf(from), from);
  const no = (why: string) => new Refusal(`${from}: ${why}`);
  if (!isObject(document)) throw no("it is not an OpenAPI description: it is no object");
  const { swagger, openapi, paths, info } = document;
  if (swagger !== undefined) {
    throw no(
      `it is Swagger ${textIn(swagger)}, and OpenAPI 3 is needed: convert it, for example by \`npx swagger2openapi FILE -o openapi.json\` or at https://converter.swagger.io`,
    );
  }
  if (typeof openapi !== "string" || !/^3\.[0-2](\.|$)/.test(openapi)) {
    throw no(
      openapi === undefined
        ? "it is not an OpenAPI description: it has no `openapi: 3.…`"
        : `it is OpenAPI ${textIn(openapi)}, and 3.0 to 3.2 are read`,
    );
  }
  if (!isObject(info) || typeof info["title"] !== "string") throw no("its `info` has no `title`");
  if (!isObject(paths) || Object.keys(paths).length === 0) throw no("it has no `paths`");
  dropExtensions(document);
  // YAML parses empty parts as null.
  const parts = Object.entries(document).filter(([, part]) => part !== null);
  return new Description(from, Object.fromEntries(parts) as unknown as Document);
}

const textIn = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

async function textOf(from: string): Promise<string> {
  const maxBytes = limits.descriptionBytes;
  if (isUrl(from)) {
    if (!URL.canParse(from)) throw new Refusal(`${from}: it is not a URL`);
    const got = await requestSource(new URL(from), { maxBytes });
    return new TextDecoder().decode(bodyOf(got));
  }
  const about = await stat(from).catch(() => undefined);
  if (about === undefined || !about.isFile()) {
    throw new Refusal(`${from}: there is no such file: give the path or the URL of a description`);
  }
  if (about.size > maxBytes) {
    throw new Refusal(`${from}: it is larger than ${maxBytes} bytes, which is the limit`);
  }
  // `TextDecoder` removes a byte order mark, which `JSON.parse` rejects.
  return new TextDecoder().decode(await readFile(from));
}

function parsed(text: string, from: string): unknown {
  try {
    return /^\s*\{/.test(text) ? JSON.parse(text) : valueInYaml(text);
  } catch (error) {
    const [first] = (error as Error).message.split("\n");
    throw new Refusal(`${from}: it cannot be read as YAML or JSON: ${first}`);
  }
}
