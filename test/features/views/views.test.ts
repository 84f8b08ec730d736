import { describe, expect, test } from "vitest";
import type { Json, Lists, Tool } from "../../../src/server/kernel/core/model.ts";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import type { Deployment } from "../../../src/server/kernel/servlets/deployment.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { directoryOf } from "../../../src/server/features/otc/directory.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { merge, type Clash } from "../../../src/server/kernel/servlets/catalog.ts";
import { viewsContributor } from "../../../src/server/features/views/views.ts";
import { NO_ENTRIES } from "../../../src/server/kernel/servlets/servlet.ts";
import { bundle } from "../../bundle.gen.ts";
import { send, serverOf } from "../../worker/calls/client.ts";
import { ask } from "../../worker/server.ts";

/** Views of a servlet: what clients that show them see, and that others see what they saw before. */
const EXTENSION = "io.modelcontextprotocol/ui";
const TYPE = "text/html;profile=mcp-app";
const VIEWS = { extensions: { [EXTENSION]: { mimeTypes: [TYPE] } } };
const URI = "ui://viewing/board";
const contributors = [viewsContributor];
const shows = { "io.modelcontextprotocol/clientCapabilities": VIEWS };

interface Listed {
  name: string;
  uri: string;
  _meta?: unknown;
}
const named = (all: Listed[], name: string) => all.find((one) => one.name === name);
const UI = {
  csp: { connectDomains: ["https://api.example.com"] },
  permissions: { clipboardWrite: {} },
  prefersBorder: true,
};

describe("a client that shows views", () => {
  test("sees them, the tools that they show, and the tools that are for them alone", async () => {
    const { result: tools } = await ask("tools/list", {}, shows);
    expect(named(tools!["tools"], "list")).toMatchObject({ _meta: { ui: { resourceUri: URI } } });
    expect(named(tools!["tools"], "move")).toMatchObject({
      _meta: { ui: { visibility: ["app"] } },
    });
    const { result: resources } = await ask("resources/list", {}, shows);
    expect(resources!["resources"].find(({ uri }: Listed) => uri === URI)).toEqual({
      uri: URI,
      name: "board",
      title: "Board",
      mimeType: TYPE,
      _meta: { ui: UI },
    });
    const { result: found } = await ask("server/discover", {}, shows);
    expect(found!["capabilities"]["extensions"]).toMatchObject({
      [EXTENSION]: { mimeTypes: [TYPE] },
    });
  });

  test("reads a view with what it may load, without a run of the servlet", async () => {
    const { result } = await ask("resources/read", { uri: URI }, shows);
    expect(result!["contents"]).toEqual([
      { uri: URI, mimeType: TYPE, text: expect.stringContaining("A board"), _meta: { ui: UI } },
    ]);
    for (const name of ["other", "constructor", "__proto__"]) {
      const { error } = await ask("resources/read", { uri: `ui://viewing/${name}` }, shows);
      expect(error?.message).toContain("not found");
    }
  });
});

describe("any other client", () => {
  const without = {
    ...bundle,
    servlets: bundle.servlets.map((servlet) => {
      if (servlet.name !== "viewing") return servlet;
      const { views: _, ...rest } = servlet;
      const lists = {
        ...servlet.lists!,
        tools: servlet.lists!.tools.filter(({ name }) => name !== "move"),
      };
      return { ...rest, manifest: {}, lists };
    }),
  };
  const texts = async (server: ReturnType<typeof serverOf>) =>
    Promise.all(
      ["tools/list", "resources/list", "server/discover"].map(async (method) =>
        JSON.stringify(await send(method, {}, { server })),
      ),
    );

  test("sees what it saw before, to the byte", async () => {
    expect(await texts(serverOf(bundle))).toEqual(await texts(serverOf(without)));
  });

  test("may call a tool that is for views alone, as its scopes say, and is not shown it", async () => {
    const { result } = await ask("tools/call", { name: "move", arguments: {} });
    expect(result!["content"][0].text).toBe("moved");
  });
});

describe("another servlet", () => {
  const viewing = bundle.servlets.find(({ name }) => name === "viewing")!;
  const { lists: _, definitions: __, ...dynamic } = viewing;
  const tool = (meta: object, name = "take"): Tool => ({
    name,
    inputSchema: { type: "object" },
    _meta: meta as Json,
  });
  const merged = (lists: Partial<Lists>, of: PreparedServlet = dynamic, manifest = {}) => {
    const other = { ...dynamic, name: "another", manifest };
    const clashes: Clash[] = [];
    const all = [
      { servlet: other, lists: { ...NO_ENTRIES, ...lists } },
      { servlet: of, lists: NO_ENTRIES },
    ];
    return { clashes, ...merge(all, (clash) => clashes.push(clash), { contributors }) };
  };

  test.each([
    ["whose lists are known", viewing],
    ["whose lists are asked for", dynamic],
  ])("cannot list a view of one %s", (_what, of) => {
    const listed = [{ uri: URI, name: "board", mimeType: TYPE }];
    const { resources, clashes } = merged({ resources: listed }, of);
    expect(resources.get(URI)?.servlet.name).toBe("viewing");
    const clash = { kind: "resources", name: URI, servlets: ["viewing", "another"] };
    expect(clashes).toEqual([clash]);
    const shared = merge(
      [{ servlet: { ...viewing, name: "another" }, lists: { ...NO_ENTRIES, resources: listed } }],
      () => {},
      { contributors, shown: [viewing, dynamic] },
    );
    expect(shared.resources.has(URI)).toBe(false);
  });

  test.each([
    { ui: { resourceUri: URI, visibility: ["app"] }, kept: 1 },
    { "ui/resourceUri": URI, kept: 1 },
    { ui: { resourceUri: 7 }, kept: 1 },
  ])("cannot show its results on it: %j", (meta) => {
    const { lists } = merged({ tools: [tool(meta)] });
    expect(JSON.stringify(lists.tools)).not.toMatch(/viewing|resourceUri/);
    expect(lists.tools[0]!._meta).toMatchObject({ kept: 1 });
  });

  test("shows them on views that it lists itself", () => {
    const meta = { ui: { resourceUri: "ui://viewing/other" } };
    expect(merged({ tools: [tool(meta)] }).lists.tools[0]!._meta).toEqual(meta);
  });

  test("has no view where that is skipped", () => {
    const meta = { ui: { resourceUri: "ui://any/page" } };
    const manifest = { skip_resources: ["ui://.*"] };
    const { lists } = merged({ tools: [tool(meta)] }, dynamic, manifest);
    expect(JSON.stringify(lists.tools)).not.toContain("resourceUri");
    const own = { ...viewing, manifest: { ...viewing.manifest, ...manifest } };
    const { lists: seen } = merge([{ servlet: own, lists: viewing.lists! }], () => {}, {
      contributors,
    });
    expect(JSON.stringify(seen)).not.toContain("ui://");
  });

  test.each(["constructor", "toString", "move"])(
    "may have a tool %s for views alone, and leaves Open Tool Calling whole",
    (name) => {
      const meta = { ui: { visibility: ["app"] } };
      const { definitions } = directoryOf(merged({ tools: [tool(meta, name), tool({})] }));
      expect(definitions.map(({ id }) => id)).toEqual(["another.take@1.0.0"]);
    },
  );
});

test.each([
  [1024 * 1024, /^ /],
  [1024 * 1024 + 1, /has 1048577 bytes \(limit 1048576\)/],
])("an installed view of %i bytes is read if it is not too large", async (size, expected) => {
  const { views: _, ...viewing } = bundle.servlets.find(({ name }) => name === "viewing")!;
  const servlet = { ...viewing, parts: { module: "m", views: { board: "d" } } };
  const deployment = {
    contributors,
    storedPart: async () => new TextEncoder().encode(" ".repeat(size)).buffer,
  };
  const registry = new Registry({ servlets: [servlet] }, deployment as unknown as Deployment);
  const { run } = await registry.resolve({ kind: "resource", name: URI });
  const read = async () => JSON.stringify(await run({} as CallContext));
  const text = await read().then(
    (result) => JSON.parse(result).contents[0].text,
    ({ message }: Error) => message,
  );
  expect(text).toMatch(expected);
});

test("scopes apply to views as to tools", async () => {
  const key = crypto.randomUUID();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  const hash = new Uint8Array(digest).toHex();
  const headers = { authorization: `Bearer ${key}` };
  const read = async (...scopes: string[]) => {
    const variables = { API_KEYS: JSON.stringify({ ada: { hash, scopes } }) };
    return send("resources/read", { uri: URI }, { server: serverOf(bundle, variables), headers });
  };
  expect(JSON.stringify(await read("hello:*"))).toContain("lacks the scope");
  expect(JSON.stringify(await read("viewing:*"))).toContain("A board");
});
