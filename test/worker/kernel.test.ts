import { expect, test } from "vitest";
import { createApp } from "../../src/server/kernel/app.ts";
import { features } from "../all-features.ts";
import { Kernel, type Feature } from "../../src/server/kernel/kernel.ts";
import { VIEW_TYPE } from "../../src/server/kernel/core/views.ts";
import { skillsFeature } from "../../src/server/features/skills/feature.ts";
import { viewsFeature } from "../../src/server/features/views/feature.ts";
import { durableObjects } from "../../src/server/kernel/objects.ts";
import { bundle } from "../bundle.gen.ts";
import { answerOf, ask, post, settings } from "./server.ts";

/** A server with these features alone, and the settings and bindings of all. */
const kernelWith = (some: readonly Feature[], variables: object = {}) =>
  new Kernel({ ...bundle, features: some }, { ...settings, ...variables } as typeof settings);
const serverWith = (some: readonly Feature[]) => createApp(kernelWith(some));

const kernel = serverWith([]);

test("the kernel alone serves clients of both eras, without sessions", async () => {
  const called = await ask("tools/call", { name: "greet", arguments: { name: "Ada" } }, {}, kernel);
  expect(called.result).toMatchObject({ content: [{ type: "text", text: "Hello, Ada!" }] });
  const begin = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    },
  };
  const begun = await post(begin, {}, kernel);
  expect(begun.headers.get("mcp-session-id")).toBeNull();
  expect((await answerOf(begun)).result).toMatchObject({ protocolVersion: "2025-11-25" });
  const call = {
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "greet", arguments: { name: "Bob" } },
  };
  const { result } = await answerOf(
    await post(call, { "mcp-protocol-version": "2025-11-25" }, kernel),
  );
  expect(result).toMatchObject({ content: [{ type: "text", text: "Hello, Bob!" }] });
});

test.each(["/", "/tools", "/ask/x", "/operator/state/hello", "/authorize", "/console/live"])(
  "the kernel alone has nothing at %s, also for a browser",
  async (path) => {
    const headers = { accept: "text/html" };
    const response = await kernel.fetch(new Request(`http://localhost:8787${path}`, { headers }));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: expect.stringContaining("/mcp") });
  },
);

test.each([
  ["tasks/get", { taskId: "a" }],
  ["skills/list", {}],
])("a method of a feature that is left out is unknown: %s", async (method, params) => {
  const { error } = await ask(method, params, {}, kernel);
  expect(error).toMatchObject({ code: -32601 });
});

test("a server without views and skills neither lists nor declares them", async () => {
  const of = async (server: typeof kernel) => {
    const client = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [VIEW_TYPE] } } };
    const shows = { "io.modelcontextprotocol/clientCapabilities": client };
    const { result: listed } = await ask("resources/list", {}, shows, server);
    const { result: found } = await ask("server/discover", {}, shows, server);
    const uris: string[] = listed!["resources"].map(({ uri }: { uri: string }) => uri);
    return {
      schemes: uris.map((uri) => uri.split(":", 1)[0]),
      extensions: Object.keys(found!["capabilities"]["extensions"] ?? {}),
    };
  };
  const { schemes, extensions } = await of(serverWith([viewsFeature, skillsFeature]));
  expect(schemes).toEqual(expect.arrayContaining(["ui", "skill"]));
  expect(extensions).toHaveLength(2);
  const without = await of(kernel);
  expect(without.schemes).not.toContain("ui");
  expect(without.schemes).not.toContain("skill");
  expect(without.extensions).toEqual([]);
});

test.each(features.map((one) => [one.name, one] as const))(
  "a server with %s and what that needs begins, and serves",
  async (_name, feature) => {
    const server = serverWith([feature]);
    const called = await ask(
      "tools/call",
      { name: "greet", arguments: { name: "Ada" } },
      {},
      server,
    );
    expect(called.result).toMatchObject({ content: [{ type: "text", text: "Hello, Ada!" }] });
  },
);

test.each(features.map((one) => [one.name, one] as const))(
  "a server with all but %s and what needs that begins, and serves",
  async (_name, feature) => {
    const left = features.filter((one) => one !== feature && one.needs?.includes(feature) !== true);
    const server = serverWith(left);
    const called = await ask(
      "tools/call",
      { name: "greet", arguments: { name: "Ada" } },
      {},
      server,
    );
    expect(called.result).toMatchObject({ content: [{ type: "text", text: "Hello, Ada!" }] });
    const without = durableObjects(kernelWith(left));
    const own = feature.start(kernelWith(left)).objects ?? {};
    // What stands for them does nothing.
    for (const name of Object.keys(own))
      expect(Object.getOwnPropertyNames(without[name]!.prototype)).toEqual(["constructor"]);
  },
);

test("a servlet that keeps state does not run without it", async () => {
  const { error, result } = await ask(
    "tools/call",
    { name: "keeping-count", arguments: {} },
    {},
    kernel,
  );
  expect(JSON.stringify(error ?? result)).toContain("the binding SERVLET_STATES is missing");
});

test("what is stored for a caller is deleted in all features, though one fails", async () => {
  const done: string[] = [];
  const feature = (name: string, work: () => string[]): Feature => ({
    name,
    start: () => ({
      async forget(caller) {
        done.push(`${name} ${caller}`);
        return work();
      },
    }),
  });
  const fail = () => {
    throw new Error("It failed.");
  };
  const all = [feature("first", () => ["a"]), feature("second", fail), feature("third", () => [])];
  await expect(kernelWith(all).forgetCaller("ada")).rejects.toThrow("It failed.");
  expect(done).toEqual(["third ada", "second ada", "first ada"]);
  expect(await kernelWith(all.slice(0, 1)).forgetCaller("ada")).toEqual(["a"]);
});

test.each([
  ["OAUTH_ISSUERS", '[{"issuer":"https://id.example"}]', "OAUTH_ISSUERS under [vars]"],
  ["OTC_JWT_SECRET", "secret ".repeat(8), "Bind CALL_RECORDS"],
])("%s without what it is for says what brings that in", (name, value, by) => {
  expect(() => kernelWith([], { [name]: value })).toThrow(
    `${name} is set, but this server was built without`,
  );
  expect(() => kernelWith([], { [name]: value })).toThrow(by);
});

test.each([
  ["OWNER_PASSPHRASE", `pbkdf2:1:${"A".repeat(22)}:${"A".repeat(43)}=`],
  ["SIGN_IN", "{}"],
])(
  "%s without its feature never leaves the server open, also where no features are known",
  (name, value) => {
    const known = { bindings: [], settings: [], optional: {} };
    const variables = { ...settings, [name]: value };
    expect(() => new Kernel({ ...bundle, features: [], known }, variables)).toThrow(
      `${name} is set, but this server was built without the feature that reads it`,
    );
  },
);

test("no two features have a part, an object, a host function or a method of the same name", () => {
  const started = features.map((one) => one.start(kernelWith(features)));
  const names = started.flatMap(
    ({ objects = {}, parts = {}, hostFunctions = {}, methods = {} }) => [
      ...Object.keys(objects),
      ...Object.keys(hostFunctions),
      ...Object.keys(parts),
      ...Object.entries(methods).flatMap(([name, row]) =>
        Object.keys(row)
          .filter((key) => key !== "namedBy")
          .map((key) => `${name} ${key}`),
      ),
    ],
  );
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
});
