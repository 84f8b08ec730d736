import { createHash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { built, builtFrom, Operator, serveInstalling } from "../../../node/http/installing.ts";

/** Agents see what is served, and those of operators install and uninstall, after their user has agreed. */

const hash = (key: string) => createHash("sha256").update(key).digest("hex");
let server: Awaited<ReturnType<typeof serveInstalling>>;
beforeAll(async () => {
  server = await serveInstalling({
    API_KEYS: JSON.stringify({
      boss: { hash: hash("boss"), scopes: ["operator", "*:*"] },
      installer: { hash: hash("installer"), scopes: ["operator"] },
      narrow: { hash: hash("narrow"), scopes: ["operator", "reader:*"] },
      guest: { hash: hash("guest"), scopes: ["hello:*"] },
      anybody: hash("anybody"),
    }),
  });
});
afterAll(() => server.close());

const SOURCE = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  shout: { description: "Shouts.", input: { type: "object", properties: {} }, handler: () => "HEY" },
} });`;

/** The page for operators, as the holder of a key sees it. */
async function operatePage(key: string): Promise<string> {
  const url = new URL("/console/operate", server.url);
  const body = new URLSearchParams({ credential: key });
  const headers = { origin: url.origin };
  const signedIn = await fetch(url, { method: "POST", body, headers, redirect: "manual" });
  const [cookie = ""] = signedIn.headers.getSetCookie();
  return (await fetch(url, { headers: { cookie: cookie.split(";")[0]! } })).text();
}

async function connected(
  key: string,
  action: "accept" | "decline" = "accept",
  meanwhile = async () => {},
) {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
      capabilities: { elicitation: { form: {} } },
    },
  );
  const questions: string[] = [];
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    questions.push(params.message);
    if (questions.length === 1) await meanwhile();
    return { action, ...(action === "accept" && { content: {} }) };
  });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit }));
  const call = async (name: string, args: object = {}) => {
    const result = await client.callTool({ name, arguments: { ...args } });
    return { isError: result.isError, ...(result.content as { text: string }[])[0]! };
  };
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { client, call, names, questions };
}

const EVENTUALLY = { timeout: 15_000, interval: 200 };

test("an operator's agent installs what was published once its user agrees, and uninstalls it", async () => {
  const operator = new Operator(server.url, { authorization: "Bearer boss" });
  const loud = await built("loud", SOURCE, { allowed_hosts: ["example.com"] });
  await operator.put(loud, "build");
  const boss = await connected("boss");
  expect(JSON.parse((await boss.call("list_servlets")).text)).toMatchObject({
    installable: ["loud"],
  });
  expect((await boss.call("install_servlet", { name: "quiet" })).text).toContain("Published: loud");

  const shy = await connected("boss", "decline");
  expect(await shy.call("install_servlet", { name: "loud" })).toMatchObject({
    isError: true,
    text: "loud was not installed: the user has declined.",
  });
  expect(await boss.names()).not.toContain("shout");

  const installed = await boss.call("install_servlet", { name: "loud" });
  expect(JSON.parse(installed.text)).toEqual({
    name: "loud",
    version: 1,
    isNew: true,
    tools: ["shout"],
  });
  expect(boss.questions[0]).toContain("Its tools: shout.");
  expect(boss.questions[0]).toContain("It may reach these hosts: example.com.");
  await expect.poll(boss.names, EVENTUALLY).toContain("shout");
  expect((await boss.call("shout")).text).toBe("HEY");

  expect(JSON.parse((await boss.call("list_servlets")).text)).toMatchObject({ installable: [] });
  await operator.put(await built("loud", SOURCE.replace("HEY", "HO")), "build");
  expect(JSON.parse((await boss.call("list_servlets")).text)).toMatchObject({
    installable: ["loud"],
  });

  // What is served already is no news.
  expect(await operator.put(loud)).toMatchObject({ isNew: false });

  await boss.call("uninstall_servlet", { name: "loud" });
  const page = await operatePage("boss");
  expect(page.match(/Installed loud/g)).toHaveLength(1);
  expect(page).toMatch(
    /Uninstalled loud\.[^]*by an agent[^]*Installed loud, version 1\.[^]*by an agent[^]*Published loud \(\w{12}\)\.[^]*by a command/,
  );
  await expect.poll(boss.names, EVENTUALLY).not.toContain("shout");
  await Promise.all([boss.client.close(), shy.client.close()]);
});

test("a yes is to the build that was shown, and not to another with the same code", async () => {
  const operator = new Operator(server.url, { authorization: "Bearer boss" });
  const publish = async (name: string, hosts: string[]) =>
    operator.put(
      await builtFrom("plugins/hello", name, { prefix: "shown", allowed_hosts: hosts }),
      "build",
    );
  await publish("shown", ["example.com"]);
  const boss = await connected("boss", "accept", async () => {
    await publish("shown", ["example.com", "other.example"]);
    await publish("twin", []);
  });
  expect(JSON.parse((await boss.call("install_servlet", { name: "shown" })).text)).toMatchObject({
    name: "shown",
    version: 1,
  });
  expect(boss.questions).toEqual([
    expect.stringContaining("these hosts: example.com.\n"),
    expect.stringContaining("these hosts: example.com, other.example."),
  ]);
  // The same code under another name can still be installed, once its tools are free.
  expect(JSON.parse((await boss.call("list_servlets")).text).installable).toContain("twin");
  await boss.call("uninstall_servlet", { name: "shown" });
  await boss.client.close();
});

test("a servlet takes the place of none in the bundle, and of another only where that was said", async () => {
  const operator = new Operator(server.url, { authorization: "Bearer boss" });
  const publish = async (name: string, version: string, toolkit: string) =>
    operator.put(
      await builtFrom("plugins/hello", name, { prefix: name, toolkit, version }),
      "build",
    );
  await publish("shadow", "9.0.0", "notes");
  await publish("one", "1.0.0", "kit");
  await publish("two", "2.0.0", "kit");
  const boss = await connected("boss");
  expect((await boss.call("install_servlet", { name: "shadow" })).text).toContain(
    "toolkit notes belongs to a servlet of the bundle",
  );
  expect(boss.questions).toEqual([]);
  await boss.call("install_servlet", { name: "one" });
  await expect.poll(boss.names, EVENTUALLY).toContainEqual(expect.stringMatching(/^one/));
  await boss.call("install_servlet", { name: "two" });
  expect(boss.questions.at(-1)).toContain(
    "one also has the toolkit kit, in version 1.0.0; this one is 2.0.0. MCP clients get the newest alone.",
  );
  for (const name of ["one", "two"]) await boss.call("uninstall_servlet", { name });
  await boss.client.close();
});

test.each(["guest", "anybody"])(
  "others (%s) see what is served to them, and cannot install",
  async (key) => {
    const { client, call, names } = await connected(key);
    const offered = await names();
    expect(offered).toContain("list_servlets");
    expect(offered).not.toContain("install_servlet");
    const { servlets } = JSON.parse((await call("list_servlets")).text);
    const seen = new Set(servlets.map((one: { name: string }) => one.name));
    expect([seen.has("hello"), seen.has("approval")]).toEqual([true, key === "anybody"]);
    await expect(call("install_servlet", { name: "loud" })).rejects.toThrow(
      /install_servlet|scope/,
    );
    await client.close();
  },
);

test("who installs a servlet or an older version may call no more than before, also by what it calls", async () => {
  const reader = (more: string) =>
    built(
      "reader",
      `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  ${more}read_all: { description: "Calls the others.", input: { type: "object", properties: {} }, handler: async (_, { tools }) => {
    const said = [];
    for (const [name, args] of [["list_notes", {}], ["greet", { name: "Ada" }], ["install_servlet", { name: "loud" }]])
      said.push(await tools[name](args).then(() => "called", (error) => error.message));
    return said.join("; ");
  } },
} });`,
      { may_call: ["*:*"], state: "caller" },
    );
  const installer = new Operator(server.url, { authorization: "Bearer installer" });
  await installer.put(await reader(""));
  await installer.put(await reader("other: { description: 'Other.', handler: () => '' }, "));
  const called = async (key: string) => {
    const { client, call, names } = await connected(key);
    const said = await call("read_all").catch((error: Error) => ({ text: error.message }));
    const offered = (await names()).filter((name) => /note|read|greet/.test(name));
    await client.close();
    return { text: said.text, offered };
  };
  const alone = { text: expect.stringContaining("reader:read_all"), offered: [] };
  const narrow = {
    text: expect.stringMatching(/^(?:(?!called).)+; (?:(?!called).)+; (?:(?!called).)+$/),
    offered: ["read_all"],
  };
  await expect.poll(async () => (await called("narrow")).offered, EVENTUALLY).toEqual(["read_all"]);
  expect(await called("narrow")).toEqual(narrow);
  expect(await called("installer")).toEqual(alone);
  await installer.json("POST", "servlet/reader", { rollback: 1 });
  expect(await called("narrow")).toEqual(narrow);
  expect(await called("installer")).toEqual(alone);
  // A key without scopes reaches all that the servlet may call.
  expect((await called("anybody")).text).toMatch(/^called; called; (?!called)/);
  await installer.json("DELETE", "servlet/reader");
});
