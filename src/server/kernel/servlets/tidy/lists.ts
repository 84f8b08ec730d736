/** Lists of servlets, made valid MCP. */
import { isObject, type Json, type Lists, type Tool } from "../../core/model.ts";
import { array, bad, isString, nameOrKey, present, string, withoutEmpty } from "./members.ts";

/** The identifying member of each kind of list entry. */
const KEYS = { tools: "name", resources: "uri", resourceTemplates: "uriTemplate", prompts: "name" };

/** One list as the servlet returned it. */
export function validList<K extends keyof Lists>(kind: K, value: unknown): Lists[K] {
  const entries = array(value ?? [], `the list of ${kind}`).map((one) => {
    const entry = withoutEmpty(present(one, `an entry of ${kind}`), [
      "description",
      "title",
      "mimeType",
    ]);
    const key = string(entry[KEYS[kind]], `the ${KEYS[kind]} of an entry of ${kind}`);
    entry["name"] = nameOrKey(entry, key);
    if (kind === "tools") entry["inputSchema"] = inputSchema(entry["inputSchema"]);
    if (isObject(entry["outputSchema"]))
      entry["outputSchema"] = withProperties(entry["outputSchema"]);
    if (kind === "prompts" && entry["arguments"] !== undefined) {
      entry["arguments"] = array(entry["arguments"], "a prompt's arguments")
        // An argument without a name cannot be sent; the others still work.
        .filter((argument) => isObject(argument) && isString(argument["name"]))
        .map((argument) => present(argument, "a prompt's argument"));
    }
    return entry;
  });
  // The required members are checked above; the rest is as the servlet wrote it.
  return entries as unknown[] as Lists[K];
}

function inputSchema(value: unknown): Tool["inputSchema"] {
  if (value !== undefined && !isObject(value)) throw bad("a tool's inputSchema is not an object");
  return withProperties({ ...value, type: "object" }) as Tool["inputSchema"];
}

/** Adds `properties` to an object schema: some clients and model APIs reject a schema without it. */
const withProperties = (schema: Json): Json =>
  schema["type"] === "object" ? { ...schema, properties: schema["properties"] ?? {} } : schema;
