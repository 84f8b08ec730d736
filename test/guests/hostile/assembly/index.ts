// hostile: lists what its config says, so that schemas and templates can be of any kind.
import { block, fail, input, output, read } from "../../../../plugins/lib/assembly/extism";
import { config_get } from "../../host";

const ARGUMENTS = '"arguments":';

export function list_tools(): i32 {
  return output(`{"tools":${read(config_get(block("tools")))}}`);
}

export function list_resource_templates(): i32 {
  return output(`{"resourceTemplates":${read(config_get(block("templates")))}}`);
}

/** Gives the arguments back as structured content, as they came: they stand before the context. */
export function call_tool(): i32 {
  const given = input();
  const begin = given.indexOf(ARGUMENTS) + ARGUMENTS.length;
  const end = given.lastIndexOf('},"context":');
  return output(`{"content":[],"structuredContent":${given.substring(begin, end)}}`);
}

export function read_resource(): i32 {
  if (read(config_get(block("templates"))) == "[]") return fail("no templates are configured");
  return output('{"contents":[{"text":"found"}]}');
}

export function complete(): i32 {
  return output('{"completion":{"values":["one"]}}');
}
