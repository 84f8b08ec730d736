// conformance: the fixtures of the official conformance suite that need no state between calls.
import { output } from "../../../../plugins/lib/assembly/extism";
import {
  notify_prompt_list_changed,
  notify_tool_list_changed,
} from "../../../../plugins/lib/assembly/host";
import {
  Call,
  elicit,
  log,
  result,
  rpcError,
  sample,
  text,
  toolError,
} from "../../../../plugins/lib/assembly/hyper";
import { quote } from "../../../../plugins/lib/assembly/json";
import { sleep } from "../../../../plugins/lib/assembly/wasi";
import { CONFIRM, DEFAULTS, ENUMS, NAME_AND_EMAIL } from "./forms";
import { PROMPTS, RESOURCES, RESOURCE_TEMPLATES, tools } from "./lists";

/** One red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
/** One millisecond of silence. */
const WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

const IMAGE = `{"type":"image","data":"${PNG}","mimeType":"image/png"}`;
const AUDIO = `{"type":"audio","data":"${WAV}","mimeType":"audio/wav"}`;

export function list_tools(): i32 {
  return output(`{"tools":${tools()}}`);
}

export function list_resources(): i32 {
  return output(`{"resources":${RESOURCES}}`);
}

export function list_resource_templates(): i32 {
  return output(`{"resourceTemplates":${RESOURCE_TEMPLATES}}`);
}

export function list_prompts(): i32 {
  return output(`{"prompts":${PROMPTS}}`);
}

export function call_tool(): i32 {
  const call = new Call();
  const name = call.name;
  if (name == "test_simple_text")
    return result(text("This is a simple text response for testing."));
  if (name == "test_image_content") return result(IMAGE);
  if (name == "test_audio_content") return result(AUDIO);
  if (name == "test_embedded_resource") {
    return result(
      embed("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    );
  }
  if (name == "test_multiple_content_types") {
    const resource = embed(
      "test://mixed-content-resource",
      "application/json",
      '{"test":"data","value":123}',
    );
    return result(`${text("Multiple content types test:")},${IMAGE},${resource}`);
  }
  if (name == "test_error_handling")
    return toolError("This tool intentionally returns an error for testing");
  if (name == "test_tool_with_logging") return logThrice();
  if (name == "test_tool_with_progress") return progressThrice(call);
  if (name == "test_logging_tool") {
    log("info", "conformance", "A message for those who asked for messages");
    return result(text("Logged."));
  }
  if (name == "test_sampling") return askModel(call.argument("prompt").string());
  if (name == "test_missing_capability") return askModel("Say anything.");
  if (name == "test_elicitation") return askUser(call.argument("message").string(), NAME_AND_EMAIL);
  if (name == "test_streaming_elicitation") return askUser("Please confirm", CONFIRM);
  if (name == "test_elicitation_sep1034_defaults")
    return askUser("Please review your details", DEFAULTS);
  if (name == "test_elicitation_sep1330_enums") return askUser("Please choose", ENUMS);
  if (name == "test_trigger_tool_change") {
    notify_tool_list_changed();
    return result(text("The list of tools has changed."));
  }
  if (name == "test_trigger_prompt_change") {
    notify_prompt_list_changed();
    return result(text("The list of prompts has changed."));
  }
  if (name == "test_x_mcp_header")
    return result(text(`Region: ${call.argument("region").string("none")}`));
  if (name == "json_schema_2020_12_tool") return result(text(call.request.get("arguments").raw));
  return rpcError(`Unknown tool: ${name}`);
}

export function read_resource(): i32 {
  const uri = new Call().request.get("uri").string();
  if (uri == "test://static-text") {
    return contents(
      uri,
      "text/plain",
      `"text":${quote("This is the content of the static text resource.")}`,
    );
  }
  if (uri == "test://static-binary") return contents(uri, "image/png", `"blob":"${PNG}"`);
  if (uri == "test://watched-resource")
    return contents(uri, "text/plain", `"text":"Watched resource content"`);
  if (uri.startsWith("test://template/") && uri.endsWith("/data")) {
    const id = uri.slice("test://template/".length, -"/data".length);
    const data = `{"id":${quote(id)},"templateTest":true,"data":${quote("Data for ID: " + id)}}`;
    return contents(uri, "application/json", `"text":${quote(data)}`);
  }
  return rpcError("Resource not found", `{"uri":${quote(uri)}}`);
}

export function get_prompt(): i32 {
  const call = new Call();
  if (call.name == "test_simple_prompt")
    return messages([text("This is a simple prompt for testing.")]);
  if (call.name == "test_prompt_with_arguments") {
    const first = call.argument("arg1").string();
    const second = call.argument("arg2").string();
    return messages([text(`Prompt with arguments: arg1='${first}', arg2='${second}'`)]);
  }
  if (call.name == "test_prompt_with_embedded_resource") {
    const uri = call.argument("resourceUri").string();
    return messages([
      embed(uri, "text/plain", "Embedded resource content for testing."),
      text("Please process the embedded resource above."),
    ]);
  }
  if (call.name == "test_prompt_with_image")
    return messages([IMAGE, text("Please analyze the image above.")]);
  return rpcError(`Unknown prompt: ${call.name}`);
}

export function complete(): i32 {
  const typed = new Call().request.get("argument").get("value").string();
  const words = ["paris", "park", "party", "test"];
  let matching = "";
  for (let at = 0; at < words.length; at++) {
    if (words[at].startsWith(typed)) matching += "," + quote(words[at]);
  }
  return output(`{"completion":{"values":[${matching.substring(1)}],"hasMore":false}}`);
}

function logThrice(): i32 {
  log("info", "conformance", "Tool execution started");
  sleep(50);
  log("info", "conformance", "Tool processing data");
  sleep(50);
  log("info", "conformance", "Tool execution completed");
  return result(text("Logged three messages."));
}

function progressThrice(call: Call): i32 {
  call.progress("0", "100");
  sleep(50);
  call.progress("50", "100");
  sleep(50);
  call.progress("100", "100");
  return result(text("Reported progress three times."));
}

function askModel(prompt: string): i32 {
  const answer = sample(prompt, 100);
  return result(text(`LLM response: ${answer.get("content").get("text").string()}`));
}

function askUser(message: string, form: string): i32 {
  const answer = elicit(message, form);
  return result(
    text(
      `Elicitation completed: action=${answer.get("action").string()}, content=${answer.get("content").raw}`,
    ),
  );
}

function embed(uri: string, mimeType: string, said: string): string {
  return `{"type":"resource","resource":{"uri":${quote(uri)},"mimeType":"${mimeType}","text":${quote(said)}}}`;
}

function contents(uri: string, mimeType: string, said: string): i32 {
  return output(`{"contents":[{"uri":${quote(uri)},"mimeType":"${mimeType}",${said}}]}`);
}

function messages(contents: string[]): i32 {
  const said = contents.map<string>((content) => `{"role":"user","content":${content}}`);
  return output(`{"messages":[${said.join(",")}]}`);
}
