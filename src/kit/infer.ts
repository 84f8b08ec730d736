/**
 * The interface of schema libraries such as zod and zod/mini. https://standardschema.dev
 *
 * @example
 * import * as z from "zod/mini";
 * const schema: StandardSchema<{ city: string }> = z.object({ city: z.string() });
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: JsonSchemaOptions) => JsonSchema;
      readonly output: (options: JsonSchemaOptions) => JsonSchema;
    };
  };
}

interface JsonSchemaOptions {
  readonly target: string;
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One error in a value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A JSON Schema. https://json-schema.org/draft/2020-12
 *
 * @example
 * const schema: JsonSchema = { type: "object", properties: { city: { type: "string" } } };
 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The type that a handler receives for a value of the schema `S`. */
export type OutputOf<S> = unknown extends S
  ? Record<string, unknown>
  : S extends StandardSchema<infer _, infer Output>
    ? Output
    : FromJson<S>;

/** The type that a handler may return for a value of the schema `S`. */
export type InputOf<S> = unknown extends S
  ? unknown
  : S extends StandardSchema<infer Input, infer _>
    ? Input
    : FromJson<S>;

/**
 * The type of a literal JSON Schema's values; `unknown` for keywords that are not supported here.
 *
 * @example
 * const schema = {
 *   type: "object",
 *   properties: { city: { type: "string" } },
 *   required: ["city"],
 * } as const;
 * const { city }: FromJson<typeof schema> = { city: "Oslo" };
 * return city;
 */
export type FromJson<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly type: infer Type }
      ? OfType<S, Type>
      : unknown;

type OfType<S, Type> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? S extends { readonly items: infer Item }
            ? FromJson<Item>[]
            : unknown[]
          : Type extends "object"
            ? S extends { readonly properties: infer Properties }
              ? Members<Properties, RequiredOf<S>>
              : Record<string, unknown>
            : unknown;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type Members<Properties, Required> = {
  -readonly [K in keyof Properties as K extends Required ? K : never]: FromJson<Properties[K]>;
} & {
  -readonly [K in keyof Properties as K extends Required ? never : K]?: FromJson<Properties[K]>;
};
