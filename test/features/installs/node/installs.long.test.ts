import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildLinesOf, compare } from "../../../../src/tools/bundle/differences.ts";
import { permissionsOf } from "../../../../src/server/features/installs/permissions.ts";
import { begun, built, serveLoading, type Operator } from "../../../node/http/installing.ts";

/** Servlets are installed on a server that runs, called, replaced and removed. */

const headers = { authorization: "Bearer any" };
let server: Awaited<ReturnType<typeof serveLoading>>;
let operator: Operator;
beforeAll(async () => {
  server = await serveLoading();
  ({ operator } = server);
});
afterAll(() => server.close());

/** A servlet that says who it is, asks its user, and sleeps. */
const source = (
  version: string,
  more = "",
) => `import { defineServlet } from "edge-servlets/servlet";
const text = { type: "object", properties: { text: { type: "string" } } };
export default defineServlet({ tools: {
  say: { description: "Says it, ${version}.", input: text, handler: ({ text }) => "${version}: " + text },
  fail: { description: "Fails.", input: text, handler: () => { throw new Error("${version} broke"); } },
  sleep: { description: "Sleeps for a moment.", input: text, handler: async (_, context) => { await context.sleep(50); return "${version} slept"; } },
  look: { description: "Fetches.", input: text, handler: async ({ text }, context) => {
    const response = await context.fetch(text); return response.status + " " + (await response.text()); } },
  ask: { description: "Asks its user, ${version}.", input: text, handler: async (_, context) => {
    const { action } = await context.elicit({ message: "${version}?", schema: { type: "object", properties: {} } });
    return "${version}: " + action; } },
  ${more}
} });`;

async function connected(onAsk?: () => Promise<void>) {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
      capabilities: { elicitation: { form: {} } },
    },
  );
  const heard: string[] = [];
  const method = "notifications/tools/list_changed";
  client.setNotificationHandler(method, () => void heard.push(method));
  client.setRequestHandler("elicitation/create", async () => {
    await onAsk?.();
    return { action: "accept", content: {} };
  });
  await client.connect(new StreamableHTTPClientTransport(server.url, { requestInit: { headers } }));
  const call = async (name: string, text = "") => {
    const { content } = await client.callTool({ name, arguments: { text } });
    return (content as { text: string }[])[0]!.text;
  };
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { client, heard, call, names };
}

const EVENTUALLY = { timeout: 15_000, interval: 200 };

// Each goes on with what those before it have installed.
describe("a servlet that is installed", { shuffle: false }, () => {
  test("is served without a deploy, and clients that listen hear of it", async () => {
    const { client, heard, call, names } = await connected();
    const subscription = await client.listen({ toolsListChanged: true });
    const one = await built("words", source("one"));
    const installed = { name: "words", version: 1, hash: one.build.hash, isNew: true };
    expect(await operator.put(one)).toEqual(installed);
    await expect.poll(() => heard.length, EVENTUALLY).toBe(1);
    expect(await names()).toContain("say");
    expect(await call("say", "hello")).toBe("one: hello");
    expect(await call("sleep")).toBe("one slept");
    expect(await call("ask")).toBe("one: accept");
    expect(await call("fail")).toContain("one broke");
    expect(await operator.put(one)).toEqual({ ...installed, isNew: false });
    await subscription.close();
    await client.close();
  });

  test("reaches the hosts that its manifest names, and no other", async () => {
    const { client, call } = await connected();
    expect(await call("look", "http://127.0.0.1:1/")).toContain(
      "manifest does not allow that host",
    );
    const allowed_hosts = [server.url.hostname];
    await operator.put(await built("words", source("two"), { allowed_hosts }));
    await expect.poll(() => call("say", "x"), EVENTUALLY).toBe("two: x");
    expect(await call("look", new URL("/health", server.url).href)).toMatch(/^200 \{/);
    await client.close();
  });

  test("ends a call that waits on the build that it began with", async () => {
    const later = await built(
      "words",
      source("three", "more: { description: 'More.', input: text, handler: () => 'more' },"),
    );
    const { client, call, names } = await connected(async () => {
      await operator.put(later);
      await expect.poll(names, EVENTUALLY).toContain("more");
    });
    expect(await call("ask")).toBe("two: accept");
    expect(await call("say", "x")).toBe("three: x");
    await client.close();
  });

  test("can be replayed with the calls that wait before it is installed", async () => {
    const manifest = { prefix: "patient", tools: { ask: { task: "always" } } };
    const patient = (version: string, more = "") =>
      built("patient", source(version, more), manifest);
    const { names, client } = await connected();
    await operator.put(await patient("one"));
    await expect.poll(names, EVENTUALLY).toContain("patient-ask");
    expect(await begun("patient-ask", server.url, headers)).toMatchObject({ resultType: "task" });
    const same = await patient(
      "one",
      "more: { description: 'More.', input: text, handler: () => 'more' },",
    );
    const tried = () => operator.put(same, "replay");
    await expect.poll(tried, EVENTUALLY).toEqual({ waiting: 1, goOn: 1, reasons: [] });
    expect(await operator.put(await patient("two"), "replay")).toEqual({
      waiting: 1,
      goOn: 0,
      reasons: [expect.stringContaining("the same with other content")],
    });
    await operator.json("DELETE", "servlet/patient");
    await client.close();
  });

  test("has its views served, and says when their documents differ", async () => {
    const { client } = await connected();
    const view = { file: "v.html", tools: ["list"], permissions: ["camera"] };
    const shown = (text: string) =>
      built(
        "shown",
        source("one").replaceAll("say:", "list:"),
        { prefix: "shown", views: { board: view } },
        { "v.html": `<!doctype html><p>${text}</p>` },
      );
    const [first, second] = [await shown("first"), await shown("second")];
    await operator.put(first);
    const read = () =>
      client.readResource({ uri: "ui://shown/board" }).then(({ contents }) => contents[0]);
    await expect.poll(read, EVENTUALLY).toMatchObject({
      mimeType: "text/html;profile=mcp-app",
      text: "<!doctype html><p>first</p>",
      _meta: { ui: { permissions: { camera: {} } } },
    });
    await operator.put(second);
    await expect.poll(read, EVENTUALLY).toMatchObject({ text: "<!doctype html><p>second</p>" });
    expect(compare(buildLinesOf(first.build), buildLinesOf(second.build)).join()).toContain(
      "view board",
    );
    expect(permissionsOf(first.build)).toContain(
      "It shows these pages in clients: board (for list, may use camera).",
    );
    await operator.json("DELETE", "servlet/shown");
    await client.close();
  });

  test("has its skills served, and says what they are", async () => {
    const { client } = await connected();
    const { build, code } = await built(
      "taught",
      source("one").replaceAll("say:", "teach:"),
      { prefix: "taught" },
      {
        "skills/teach/SKILL.md": "---\nname: teach\ndescription: Teaches.\n---\nSay it.",
        "skills/teach/deep/more.md": "More, ä.",
      },
    );
    expect(permissionsOf(build)).toContain(
      "It brings these instructions, which models obey: teach (Teaches.).",
    );
    await operator.put({ build, code });
    const read = (uri: string) => client.readResource({ uri }).then(({ contents }) => contents[0]);
    await expect
      .poll(() => read("skill://taught/teach/deep/more.md"), EVENTUALLY)
      .toMatchObject({ mimeType: "text/markdown", text: "More, ä." });
    expect(await read("skill://taught/teach/SKILL.md")).toMatchObject({
      text: "---\nname: teach\ndescription: Teaches.\n---\nSay it.",
    });
    await operator.json("DELETE", "servlet/taught");
    await client.close();
  });

  test("can be rolled back and uninstalled", async () => {
    const { client, call, names } = await connected();
    const { versions, current } = await operator.json("GET", "servlet/words");
    expect(current).toBe(3);
    expect((versions as { version: number }[]).map(({ version }) => version)).toEqual([3, 2, 1]);
    await operator.json("POST", "servlet/words", { rollback: 2 });
    await expect.poll(() => call("say", "x"), EVENTUALLY).toBe("two: x");
    await operator.json("POST", "servlet/words", { rollback: 1 });
    await expect.poll(() => call("say", "x"), EVENTUALLY).toBe("one: x");
    const { servlets } = await operator.json("GET", "servlet/");
    expect(servlets).toMatchObject([{ name: "words", version: 1, tools: 5, by: "operator" }]);
    await operator.json("DELETE", "servlet/words");
    await expect.poll(names, EVENTUALLY).not.toContain("say");
    await client.close();
  });
});
