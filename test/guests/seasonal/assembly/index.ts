// seasonal: lists what its config says, so that it has to be asked at run time.
import { block, fail, output, read } from "../../../../plugins/lib/assembly/extism";
import { result, text } from "../../../../plugins/lib/assembly/hyper";
import { quote } from "../../../../plugins/lib/assembly/json";
import { config_get } from "../../host";

export function list_tools(): i32 {
  const season = read(config_get(block("season")));
  const shape = read(config_get(block("shape")));
  const n = shape == "" ? '{"type":"integer"}' : shape;
  return output(
    `{"tools":[{"name":${quote("pick_" + season)},"inputSchema":{"type":"object","properties":{"n":${n}},"required":["n"]}}]}`,
  );
}

export function list_resources(): i32 {
  const season = read(config_get(block("season")));
  return season == "drought" ? fail("its folder is missing") : output('{"resources":[]}');
}

export function call_tool(): i32 {
  return result(text("picked"));
}
