// growing: its callers add tools and resources to it, which it lists from then on, for as long as its memory lasts.
import { block, output, read } from "../../../../plugins/lib/assembly/extism";
import { Call, result, text } from "../../../../plugins/lib/assembly/hyper";
import { create_elicitation, notify_resource_updated, notify_tool_list_changed } from "../../host";

const added: string[] = [];
const hoard: ArrayBuffer[] = [];

function tool(name: string): string {
  return `{"name":"${name}","inputSchema":{"type":"object"}}`;
}

export function list_tools(): i32 {
  const names = ["add", "add_later", "add_and_trap", "grow"].concat(added);
  const tools: string[] = [];
  for (let at = 0; at < names.length; at++) tools.push(tool(names[at]));
  return output(`{"tools":[${tools.join(",")}]}`);
}

export function list_prompts(): i32 {
  return output('{"prompts":[]}');
}

export function call_tool(): i32 {
  const call = new Call();
  const name = call.request.get("name").string();
  const given = call.argument("name").string();
  if (name == "grow") {
    const mebibytes = i32.parse(given);
    for (let at = 0; at < mebibytes; at++) hoard.push(new ArrayBuffer(1 << 20));
    for (let at = 0; at < hoard.length; at++) memory.fill(changetype<usize>(hoard[at]), 1, 1 << 20);
    return result(text(hoard.length.toString()));
  }
  if (added.includes(name)) return result(text(`${name} of ${added.length}`));
  if (name == "add_later") {
    notify_tool_list_changed();
    const form = '{"type":"object","properties":{"text":{"type":"string"}}}';
    read(create_elicitation(block(`{"message":"Sure?","requestedSchema":${form}}`)));
    added.push(given);
    return result(text("added"));
  }
  added.push(given);
  notify_tool_list_changed();
  notify_resource_updated(block(`{"uri":"growing:${given}"}`));
  if (name == "add_and_trap") unreachable();
  return result(text("added"));
}
