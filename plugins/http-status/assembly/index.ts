// http-status: a reference of HTTP status codes, as a tool, resources, a prompt and completions.
import { output } from "../../lib/assembly/extism";
import { Call, rpcError, structured, text, toolError } from "../../lib/assembly/hyper";
import { decimal, quote } from "../../lib/assembly/json";
import { Status, find, statuses } from "./statuses";

const SCHEME = "http-status://";

export function list_tools(): i32 {
  return output(`{
  "tools": [{
    "name": "lookup_status",
    "title": "Look up an HTTP status code",
    "description": "Tells what an HTTP status code means: its name, its class, a sentence of meaning, and the RFC that defines it.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "code": { "type": "integer", "minimum": 100, "maximum": 599, "description": "The status code, such as 404" }
      },
      "required": ["code"],
      "additionalProperties": false
    },
    "outputSchema": {
      "type": "object",
      "properties": {
        "code": { "type": "integer" },
        "name": { "type": "string", "description": "The reason phrase, such as Not Found" },
        "category": {
          "type": "string",
          "enum": ["informational", "success", "redirection", "client error", "server error"]
        },
        "meaning": { "type": "string" },
        "specification": { "type": "string", "description": "The RFC that defines the code" }
      },
      "required": ["code", "name", "category", "meaning", "specification"],
      "additionalProperties": false
    },
    "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false }
  }]
}`);
}

export function list_resources(): i32 {
  return output(`{
  "resources": [{
    "uri": "${SCHEME}index",
    "name": "index",
    "title": "HTTP status codes",
    "description": "All registered HTTP status codes in one table",
    "mimeType": "text/markdown"
  }]
}`);
}

export function list_resource_templates(): i32 {
  return output(`{
  "resourceTemplates": [{
    "uriTemplate": "${SCHEME}{code}",
    "name": "status",
    "title": "HTTP status code",
    "description": "What one HTTP status code means",
    "mimeType": "text/markdown"
  }]
}`);
}

export function list_prompts(): i32 {
  return output(`{
  "prompts": [{
    "name": "explain_status",
    "title": "Explain an HTTP status code",
    "description": "Asks for an explanation of an HTTP status code, its usual causes and what to do about it",
    "arguments": [
      { "name": "code", "description": "The status code, such as 404", "required": true },
      { "name": "audience", "description": "Who is going to read it: beginner, developer or operator" }
    ]
  }]
}`);
}

export function call_tool(): i32 {
  const call = new Call();
  if (call.name != "lookup_status") return rpcError(`Unknown tool: ${call.name}`);
  const code = call.argument("code").number;
  if (!(code >= 100 && code < 600))
    return toolError("code must be a whole number from 100 to 599.");
  const status = find(decimal(<i64>code));
  if (status == null)
    return toolError(`${unknown(decimal(<i64>code))} See ${SCHEME}index for all of them.`);
  return structured(
    `{"code":${status.code},"name":${quote(status.name)},"category":${quote(status.category)},` +
      `"meaning":${quote(status.meaning)},"specification":${quote(status.specification)}}`,
  );
}

export function read_resource(): i32 {
  const uri = new Call().request.get("uri").string();
  if (uri == SCHEME + "index") return markdown(uri, table());
  if (!uri.startsWith(SCHEME)) return rpcError("Resource not found", `{"uri":${quote(uri)}}`);
  const code = uri.substring(SCHEME.length);
  const status = find(code);
  if (status == null) return rpcError(unknown(code), `{"uri":${quote(uri)}}`);
  return markdown(uri, `# ${status.code} ${status.name}\n\n${describe(status)}\n`);
}

export function get_prompt(): i32 {
  const call = new Call();
  if (call.name != "explain_status") return rpcError(`Unknown prompt: ${call.name}`);
  const code = call.argument("code").string();
  const status = find(code);
  if (status == null) return rpcError(unknown(code));
  const audience = call.argument("audience").string("developer");
  const request =
    `Explain the HTTP status ${status.code} ${status.name} to a ${audience}: what it means, what usually causes it, ` +
    `and what to do about it on each side. From the reference: ${describe(status)}`;
  return output(`{"messages":[{"role":"user","content":${text(request)}}]}`);
}

export function complete(): i32 {
  const request = new Call().request;
  const argument = request.get("argument").get("name").string();
  const typed = request.get("argument").get("value").string();
  let values = "";
  if (argument == "code") {
    const all = statuses();
    for (let at = 0; at < all.length; at++) values += match(all[at].code, typed);
  } else if (argument == "audience") {
    values = match("beginner", typed) + match("developer", typed) + match("operator", typed);
  }
  return output(`{"completion":{"values":[${values.substring(1)}],"hasMore":false}}`);
}

/** `value` as an element of a list, comma first, if it begins with `typed`. */
function match(value: string, typed: string): string {
  return value.startsWith(typed) ? "," + quote(value) : "";
}

function markdown(uri: string, body: string): i32 {
  return output(
    `{"contents":[{"uri":${quote(uri)},"mimeType":"text/markdown","text":${quote(body)}}]}`,
  );
}

function table(): string {
  let rows = "| Code | Name | Meaning |\n| --- | --- | --- |\n";
  const all = statuses();
  for (let at = 0; at < all.length; at++) {
    rows += `| ${all[at].code} | ${all[at].name} | ${all[at].meaning} |\n`;
  }
  return rows;
}

function describe(status: Status): string {
  return `${status.meaning} (${status.category}, ${status.specification})`;
}

function unknown(code: string): string {
  return `There is no registered HTTP status code ${code}.`;
}
