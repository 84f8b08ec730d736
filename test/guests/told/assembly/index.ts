// told: gives from each export the output that it is told to, and hands to the host what it is told to.
import { block, fail, output, read } from "../../../../plugins/lib/assembly/extism";
import {
  http_request,
  notify_logging_message,
  notify_progress,
} from "../../../../plugins/lib/assembly/host";
import { Call, result, text } from "../../../../plugins/lib/assembly/hyper";
import {
  create_elicitation,
  create_message,
  get_access_token,
  get_keyring_secret,
  http_fetch,
  notify_resource_updated,
  notify_url_elicitation_completed,
  request_input,
} from "../../host";

export function list_tools(): i32 {
  return output(
    '{"tools":[{"name":"told","description":"Gives text through one of the ways out","inputSchema":{"type":"object","properties":{"through":{"type":"string","x-mcp-header":"Through"},"text":{"type":"string"},"count":{"type":"integer","x-mcp-header":"Count"}}}}]}',
  );
}

export function list_resource_templates(): i32 {
  return output('{"resourceTemplates":[{"uriTemplate":"told:{+text}","name":"told"}]}');
}

export function list_prompts(): i32 {
  return output('{"prompts":[{"name":"told","arguments":[{"name":"text"}]}]}');
}

export function read_resource(): i32 {
  return output(new Call().request.get("uri").string().substring("told:".length));
}

export function get_prompt(): i32 {
  return output(new Call().argument("text").string());
}

export function complete(): i32 {
  return output(new Call().request.get("argument").get("value").string());
}

export function call_tool(): i32 {
  const call = new Call();
  const through = call.argument("through").string();
  const told = call.argument("text").string();
  if (through == "error") return fail(told);
  if (through == "progress") notify_progress(block(told));
  else if (through == "message") notify_logging_message(block(told));
  else if (through == "updated") notify_resource_updated(block(told));
  else if (through == "completed") notify_url_elicitation_completed(block(told));
  else if (through == "http") return say(http_request(block(told), 0));
  else if (through == "fetch") return say(http_fetch(block(told), 0));
  else if (through == "elicit") return say(create_elicitation(block(told)));
  else if (through == "sample") return say(create_message(block(told)));
  else if (through == "inputs") return say(request_input(block(told)));
  else if (through == "secret") return say(get_keyring_secret(block(told)));
  else if (through == "token") return say(get_access_token(block(told)));
  else return output(told);
  return result(text("said"));
}

function say(given: u64): i32 {
  return result(text(read(given)));
}
