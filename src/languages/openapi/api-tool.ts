/** The model of a servlet's tool for one operation of an API. `tool.ts` builds it, `tool-code.ts` prints it. */
import type { Json } from "../../server/kernel/core/model.ts";
import type { EncodingObject, HttpMethod } from "./description.ts";
import type { Paging } from "./paging.ts";
import type { Shape } from "./schemas.ts";

export interface ApiTool {
  name: string;
  description: string;
  annotations: Readonly<Record<string, boolean>>;
  arguments: readonly Argument[];
  /** Additional members that the body allows: their schema, and how many of its levels to print. */
  additional?: { schema: unknown; depth: number } | undefined;
  /** The members of its result; undefined if its schema is not printed. */
  output?: readonly OutputMember[] | undefined;
  request: ToolRequest;
  /** True if the tool has an argument `fields`, which selects fields of the response. */
  takesFields: boolean;
  /** How the response refers to the next page, for the argument `next`; undefined if the tool has no paging. */
  paging?: Paging | undefined;
  /** A call for the servlet's test, and the path of its request. */
  sample: { args: Json; path: string };
  /** Lines for the author of the servlet. */
  notes: readonly string[];
}

/** The part of a request that an argument is sent in. */
export type Place = "path" | "query" | "headers" | "json" | "form" | "multipart" | "body";

export interface Argument {
  /** Its name in the tool. */
  name: string;
  /** Its name in the API. */
  key: string;
  place: Place;
  isRequired: boolean;
  /** The code of its zod schema. */
  schema: string;
  shape: Shape;
  /** How its value is converted for the request. */
  conversion?: Conversion | undefined;
  /** True if it is the whole body instead of a member. */
  isWhole?: boolean;
  /** Its serialisation in the request, if that is not the client's default. */
  style?: EncodingObject | undefined;
}

/** From any value to JSON, or from base64 to bytes. */
export type Conversion = "json" | "bytes" | "list of bytes";

export interface OutputMember {
  name: string;
  type: "string" | "number" | "boolean";
  description: string | undefined;
}

/** The request that a tool's handler makes. */
export interface ToolRequest {
  method: HttpMethod;
  /** Literal texts, with arguments between them. */
  path: readonly (string | Argument)[];
  /** Members with fixed values. */
  fixed: readonly FixedMember[];
  /** The place whose arguments the handler collects in a rest property. */
  rest: Place | undefined;
  /** True if the request has no credentials although the servlet has some. */
  isAnonymous: boolean;
}

export interface FixedMember {
  place: Place;
  key: string;
  /** Undefined for a new UUID in each request. */
  text: string | undefined;
}

/** True for an argument whose name and value are sent unchanged. */
export const isPlain = ({ name, key, conversion, isWhole }: Argument): boolean =>
  name === key && conversion === undefined && isWhole !== true;
