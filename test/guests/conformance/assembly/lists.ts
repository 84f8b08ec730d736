// What the conformance suite expects to find listed.

const NO_ARGUMENTS = `{"type":"object","additionalProperties":false}`;

export function tools(): string {
  return `[${[
    plain("test_simple_text", "Answers with a text"),
    plain("test_image_content", "Answers with an image"),
    plain("test_audio_content", "Answers with a sound"),
    plain("test_embedded_resource", "Answers with an embedded resource"),
    plain("test_multiple_content_types", "Answers with a text, an image and a resource"),
    plain("test_error_handling", "Always fails"),
    plain("test_tool_with_logging", "Logs three messages, 50 ms apart"),
    plain("test_tool_with_progress", "Reports progress three times, 50 ms apart"),
    plain("test_logging_tool", "Logs a message"),
    plain("test_missing_capability", "Needs sampling"),
    plain("test_streaming_elicitation", "Asks the user to confirm"),
    plain("test_trigger_tool_change", "Says that the list of tools has changed"),
    plain("test_trigger_prompt_change", "Says that the list of prompts has changed"),
    tool(
      "test_sampling",
      "Has the client's model answer a prompt",
      oneString("prompt", "What to ask the model"),
    ),
    tool(
      "test_elicitation",
      "Asks the user for a name and an address",
      oneString("message", "What to say to the user"),
    ),
    plain("test_elicitation_sep1034_defaults", "Asks the user with a form that has default values"),
    plain(
      "test_elicitation_sep1330_enums",
      "Asks the user with a form that has all kinds of choices",
    ),
    tool("test_x_mcp_header", "Repeats the region, which clients also send as a header", REGION),
    tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", JSON_SCHEMA_2020_12),
  ].join(",")}]`;
}

function plain(name: string, description: string): string {
  return tool(name, description, NO_ARGUMENTS);
}

function tool(name: string, description: string, inputSchema: string): string {
  return `{"name":"${name}","description":"${description}","inputSchema":${inputSchema}}`;
}

function oneString(name: string, description: string): string {
  return (
    `{"type":"object","properties":{"${name}":{"type":"string","description":"${description}"}},` +
    `"required":["${name}"],"additionalProperties":false}`
  );
}

const REGION = `{
  "type": "object",
  "properties": {
    "region": { "type": "string", "description": "Where to run", "x-mcp-header": "Region" }
  },
  "additionalProperties": false
}`;

/** To the letter as the suite has it: what a host drops from it counts as a failure. */
const JSON_SCHEMA_2020_12 = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
    }
  },
  "properties": {
    "name": { "type": "string" },
    "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" },
    "email": { "type": "string" }
  },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] },
  "else": { "required": ["email"] },
  "additionalProperties": false
}`;

export const RESOURCES = `[
  { "uri": "test://static-text", "name": "static-text", "description": "A text", "mimeType": "text/plain" },
  { "uri": "test://static-binary", "name": "static-binary", "description": "An image", "mimeType": "image/png" },
  { "uri": "test://watched-resource", "name": "watched-resource", "description": "A resource to subscribe to", "mimeType": "text/plain" }
]`;

export const RESOURCE_TEMPLATES = `[
  { "uriTemplate": "test://template/{id}/data", "name": "template", "description": "Data for an id", "mimeType": "application/json" }
]`;

export const PROMPTS = `[
  { "name": "test_simple_prompt", "description": "A prompt without arguments" },
  {
    "name": "test_prompt_with_arguments",
    "description": "A prompt with two arguments",
    "arguments": [
      { "name": "arg1", "description": "First test argument", "required": true },
      { "name": "arg2", "description": "Second test argument", "required": true }
    ]
  },
  {
    "name": "test_prompt_with_embedded_resource",
    "description": "A prompt that embeds a resource",
    "arguments": [{ "name": "resourceUri", "description": "URI of the resource to embed", "required": true }]
  },
  { "name": "test_prompt_with_image", "description": "A prompt with an image" }
]`;
