// hello: greets by name. The smallest servlet there is, and the one that the benchmark calls.
import { input, output } from "../../lib/assembly/extism";
import { Json, quote } from "../../lib/assembly/json";

export function list_tools(): i32 {
  return output(`{
  "tools": [{
    "name": "greet",
    "title": "Greet",
    "description": "Greets a person by name. Answers with one line: Hello, NAME!",
    "inputSchema": {
      "type": "object",
      "properties": { "name": { "type": "string", "description": "The name of whom to greet" } },
      "required": ["name"],
      "additionalProperties": false
    },
    "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false }
  }]
}`);
}

export function call_tool(): i32 {
  const name = Json.parse(input()).get("request").get("arguments").get("name").string("world");
  return output('{"content":[{"type":"text","text":' + quote("Hello, " + name + "!") + "}]}");
}
