import { expect, test } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import { prepare, send } from "../../worker/calls/client.ts";
import { at, profiled } from "../../worker/profiles.ts";

prepare();

test("views of a tool of the profile are read, whatever resources it has", async () => {
  const a = at("a", profiled({}, { a: { tools: ["viewing:list"], resources: [] } }));
  const { views = {} } = bundle.servlets.find(({ name }) => name === "viewing")!.manifest;
  const uri = `ui://viewing/${Object.keys(views)[0]}`;
  expect((await send("resources/read", { uri }, { server: a })).error).toBeUndefined();
  const elsewhere = at("a", profiled({}, { a: { tools: ["hello:*"] } }));
  expect((await send("resources/read", { uri }, { server: elsewhere })).error).toBeDefined();
});
