import { expect, test } from "vitest";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { bundle } from "../../bundle.gen.ts";

test("a servlet with dynamic lists may have no start functions", async () => {
  const hasStart = (module: WebAssembly.Module) =>
    WebAssembly.Module.exports(module).some(({ name }) => name === "edge_start");
  const startless = bundle.servlets.filter(
    ({ module, lists }) => !hasStart(module) && lists?.tools.length,
  );
  expect(startless.length).toBeGreaterThan(0);
  for (const { patch: _image, lists, ...servlet } of startless) {
    const errors: string[] = [];
    const registry = new Registry(
      { servlets: [{ ...servlet, startsOnce: true, manifest: {} }] },
      { variables: {}, logLevel: "error", log: (_name, _level, text) => void errors.push(text) },
    );
    const { tools } = (await registry.catalog()).lists;
    expect({ name: servlet.name, errors, count: tools.length }).toEqual({
      name: servlet.name,
      errors: [],
      count: lists!.tools.length,
    });
  }
});
