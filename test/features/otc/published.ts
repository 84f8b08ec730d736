import { Validator, type Schema } from "@cfworker/json-schema";
import openapi from "./openapi.json" with { type: "json" };

/**
 * openapi.json is spec/http/1.0/openapi.json of github.com/OpenToolCalling/Specification at commit 45b1208,
 * as published.
 */
const { components, paths } = openapi;

/**
 * The mistake in it: CallToolResponse says `additionalProperties: false` beside a `oneOf` that has the
 * value and the error, so it takes no response that has either. What is meant is `unevaluatedProperties`.
 */
const { additionalProperties, ...response } = components.schemas.CallToolResponse;
const mended = {
  ...components,
  schemas: {
    ...components.schemas,
    CallToolResponse: { ...response, unevaluatedProperties: additionalProperties },
  },
};

function wrong(schema: object, value: unknown, using: object = mended): string[] {
  const validator = new Validator({ ...schema, components: using } as Schema, "2020-12");
  const { errors } = validator.validate(value);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

type Operation = (typeof paths)["/tools"]["get"] | (typeof paths)["/tools/call"]["post"];

const operations: Record<string, Operation> = {
  "/tools": paths["/tools"].get,
  "/tools/call": paths["/tools/call"].post,
};

/** Faults of a response body by the published schema; undefined for a status that the schema lacks. */
export function wrongResponse(path: string, status: number, body: unknown): string[] | undefined {
  const responses: Record<string, object> = operations[path]?.responses ?? {};
  const described = responses[status];
  if (described === undefined) return undefined;
  if (!("content" in described)) return [];
  const content = described.content as { "application/json": { schema: object } };
  return wrong(content["application/json"].schema, body);
}

export const wrongRequest = (body: unknown) =>
  wrong(operations["/tools/call"]!.requestBody.content["application/json"].schema, body);

export const wrongDefinition = (definition: unknown) =>
  wrong({ $ref: "#/components/schemas/ToolDefinition" }, definition);

/** By the schema as it was published, mistake and all. */
export const wrongAsPublished = (result: unknown) =>
  wrong({ $ref: "#/components/schemas/CallToolResponse" }, result, components);
