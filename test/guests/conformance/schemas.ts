// Input schemas of the tools.

export const NOTHING = { type: "object", additionalProperties: false } as const;

export const REGION = {
  type: "object",
  properties: {
    region: { type: "string", description: "Where to run", "x-mcp-header": "Region" },
  },
  additionalProperties: false,
} as const;

/** To the letter as the suite has it: what a host drops from it counts as a failure. */
export const JSON_SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
} as const;

/** An object of one required string. */
export function oneString<const Name extends string>(name: Name, description: string) {
  const property = { type: "string", description } as const;
  return {
    type: "object",
    properties: { [name]: property } as Record<Name, typeof property>,
    required: [name],
    additionalProperties: false,
  } as const;
}
