import { output } from "./lib/extism";
import { Call, result, text } from "./lib/hyper";

export function list_tools(): i32 {
  return output(`{
  "tools": [{
    "name": "my_servlet_greet",
    "description": "Greets a person by name.",
    "inputSchema": {
      "type": "object",
      "properties": { "name": { "type": "string", "description": "Whom to greet." } },
      "required": ["name"]
    }
  }]
}`);
}

// The arguments fit the tool's schema: the host has checked them.
export function call_tool(): i32 {
  const call = new Call();
  return result(text("Hello, " + call.argument("name").string() + "!"));
}
