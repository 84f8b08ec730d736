import { expect, test } from "vitest";
import { callOf, changed, prepare, send, serverOf, textIn } from "../calls/client.ts";

/** Facts about tools in a manifest. */
prepare();

test("a description in the manifest replaces the tool's own", async () => {
  const manifest = { tools: { greet: { description: "Says hello." } } };
  const server = serverOf(changed("hello", () => ({ manifest })));
  const { result } = await send("tools/list", {}, { server });
  const greet = result!["tools"].find(({ name }: { name: string }) => name === "greet");
  expect(greet).toMatchObject({ name: "greet", description: "Says hello." });
  expect(textIn(await callOf("greet", { name: "Ada" }, { server }))).toBe("Hello, Ada!");
});
