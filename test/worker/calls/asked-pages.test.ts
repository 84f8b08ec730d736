import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import { failureOf, call as otc } from "../otc/client.ts";
import { beginTool, callOf, goOn, limited, prepare, textIn, type Json } from "./client.ts";
import { catching, ELICIT, saidIn, steps } from "./plans.ts";
import { Events, messageIn, resultIn, type SessionClient } from "../mcp/legacy/session-client.ts";
import { begin, objectOf, planned } from "../mcp/legacy/session-steps.ts";

/** Pages that servlets ask users to open: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
prepare();

const PAGE = { mode: "url", message: "Pay", url: "https://pay.example/" };

describe("is not asked for", () => {
  const SECURE = "Give it an https URL without a user name and a password";
  const LONG = `it is longer than ${limits.urlCharacters} characters`;
  const HOSTILE: [what: string, params: Json, why: string][] = [
    ["a script", { url: "javascript:alert(1)" }, `url: it is not https. ${SECURE}`],
    ["a hidden script", { url: " java\tscript:alert(1)" }, `url: it is not https. ${SECURE}`],
    ["data", { url: "data:text/html,<script>1</script>" }, `url: it is not https. ${SECURE}`],
    ["a file", { url: "file:///etc/passwd" }, `url: it is not https. ${SECURE}`],
    ["a private host", { url: "http://192.168.0.1/reboot" }, `url: it is not https. ${SECURE}`],
    ["a metadata host", { url: "http://169.254.169.254/" }, `url: it is not https. ${SECURE}`],
    ["this machine", { url: "http://localhost:8787/" }, `url: it is not https. ${SECURE}`],
    ["an open channel", { url: "http://pay.example/" }, `url: it is not https. ${SECURE}`],
    [
      "another host than it seems",
      { url: "https://bank.example@evil.example/" },
      `url: it has a user name or a password. ${SECURE}`,
    ],
    [
      "a password",
      { url: "https://:pass@pay.example/" },
      `url: it has a user name or a password. ${SECURE}`,
    ],
    ["no URL", { url: "pay.example" }, `url: it is not a URL. ${SECURE}`],
    ["no host", { url: "https://" }, `url: it is not a URL. ${SECURE}`],
    ["nothing", { url: undefined }, `url: it is not a text. ${SECURE}`],
    ["1 MB", { url: `https://pay.example/${"x".repeat(1_000_000)}` }, `url: ${LONG}. ${SECURE}`],
    [
      "what becomes longer",
      { url: `https://pay.example/${"\u{1f600}".repeat(1000)}` },
      `url: ${LONG}. ${SECURE}`,
    ],
    ["no reason", { message: undefined }, "message: it is not a text. Say what the page is for"],
    [
      "a number for an id",
      { elicitationId: 7 },
      `elicitationId: it is not a text of 1 to 256 characters. Shorten it, or leave it out`,
    ],
    [
      "a long id",
      { elicitationId: "x".repeat(257) },
      `elicitationId: it is not a text of 1 to 256 characters. Shorten it, or leave it out`,
    ],
    ["another mode", { mode: "popup" }, "mode: it is unknown. Use form or url"],
  ];

  test.each(HOSTILE)("%s", async (_what, changes, said) => {
    const params = { ...PAGE, ...changes };
    const [member, why] = said.split(/: (.*)/s) as [string, string];
    const asked = `the ${member} of ask_1 cannot be used: ${why}.`;
    const arguments_ = { through: "elicit", text: JSON.stringify(params) };
    const headers = { "mcp-param-through": "elicit" };
    const modern = await callOf("told", arguments_, { headers });
    expect(modern.result).toMatchObject({ resultType: "complete", isError: true });
    expect(textIn(modern)).toBe(`The servlet asked for input, but ${asked}`);
    const client = await begin();
    const { result } = await resultIn(await client.call("told", arguments_));
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0].text).toBe(`The servlet asked for input, but ${asked}`);
    expect(failureOf(await otc("told.told", arguments_))["message"]).toContain(asked);
  });

  test.each(HOSTILE)("%s, by a servlet that returns what it asks", async (_what, changes, said) => {
    const params = { ...PAGE, ...changes };
    const inputRequests = { a: { method: "elicitation/create", params } };
    const text = JSON.stringify({ resultType: "input_required", inputRequests });
    const [member, why] = said.split(/: (.*)/s) as [string, string];
    const message = `The servlet needs input, but the ${member} of a cannot be used: ${why}.`;
    const headers = { "mcp-param-through": "" };
    const { error } = await callOf("told", { through: "", text }, { headers });
    expect(error).toMatchObject({ code: -32603, message });
    const client = await begin();
    const answer = await resultIn(await client.call("told", { through: "", text }));
    expect(answer["error"]).toMatchObject({ code: -32603, message });
  });

  test.each([["account"], ["secret"]])(
    "what only the server asks is not returned: %s",
    async (mode) => {
      const params = { mode, name: "mail", message: "", ms: 1e9 };
      const inputRequests = { a: { method: "elicitation/create", params } };
      const text = JSON.stringify({ resultType: "input_required", inputRequests });
      const { error } = await callOf(
        "told",
        { through: "", text },
        { headers: { "mcp-param-through": "" } },
      );
      expect(error?.message).toContain("the mode of a cannot be used: it is unknown");
    },
  );

  test.each([["javascript:alert(1)"], ["http://10.0.0.1/"], ["https://a:b@pay.example/"]])(
    "%s, by a servlet of the kit",
    async (url) => {
      const { result } = await callOf("plan", steps({ do: "elicit_url", url }));
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toContain("the url of ask_1 cannot be used");
    },
  );
});

describe("is asked for", () => {
  const LOOKALIKE = "https://\u0430pple.example/?q=\u0430";
  const SENT = { ...PAGE, url: "https://xn--pple-43d.example/?q=%D0%B0" };
  const text = JSON.stringify({ ...PAGE, url: LOOKALIKE, requestedSchema: {}, token: "t" });

  test("with its host in ASCII, and only by what the specification has, without a session", async () => {
    const headers = { "mcp-param-through": "elicit" };
    const round = await beginTool("told", { through: "elicit", text }, { headers });
    expect(round.requests).toEqual({ ask_1: { method: "elicitation/create", params: SENT } });
    const { result } = await goOn(round, { ask_1: { action: "accept" } });
    expect(result).toMatchObject({ content: [{ text: '{"action":"accept"}' }] });
  });

  test("likewise in a session, with an id", async () => {
    const client = await begin();
    const events = new Events(await client.call("told", { through: "elicit", text }));
    const { id, params } = await events.message();
    expect(params).toEqual({ ...SENT, elicitationId: expect.any(String) });
    await client.answer(id, { action: "decline" });
    expect((await events.message())["result"].content[0].text).toBe('{"action":"decline"}');
  });

  test("likewise by a servlet that returns what it asks", async () => {
    const inputRequests = { a: { method: "elicitation/create", params: JSON.parse(text) } };
    const output = JSON.stringify({ resultType: "input_required", inputRequests });
    const headers = { "mcp-param-through": "" };
    const round = await beginTool("told", { through: "", text: output }, { headers });
    expect(round.requests).toEqual({ a: { method: "elicitation/create", params: SENT } });
  });
});

describe("a session is told that a page is done", () => {
  const page = (id: string) => ({ do: "elicit_url", id });
  const done = (id: string) => ({ do: "url_done", id });

  /** Follows a plan, and accepts all pages; gives the ids that were said to be done. */
  async function doneIn(client: SessionClient, ...all: Json[]): Promise<string[]> {
    const told: string[] = [];
    const answer = await resultIn(await client.call("plan", steps(...all)), async (message) => {
      if (message["method"] === "elicitation/create")
        await client.answer(message["id"], { action: "accept" });
      else if (message["method"] === "notifications/elicitation/complete")
        told.push(message["params"].elicitationId);
    });
    expect(saidIn(answer)).toHaveLength(all.length);
    return told;
  }

  test("once, and of none that it was not asked to open", async () => {
    const client = await begin();
    const all = [done("p1"), page("p1"), done("p2"), done("p1"), done("p1"), done("")];
    expect(await doneIn(client, ...all)).toEqual(["p1"]);
  });

  test("also by a later call of it, after its object was evicted, but not by another's", async () => {
    const [client, other] = [await begin(), await begin()];
    expect(await doneIn(client, page("p1"))).toEqual([]);
    expect(await doneIn(other, done("p1"))).toEqual([]);
    await evictDurableObject(objectOf(client));
    expect(await doneIn(client, done("p1"))).toEqual(["p1"]);
  });

  test("of the newest ones, if there are very many", async () => {
    limited({ sessionPages: 2 });
    const client = await begin();
    const all = ["p1", "p2", "p3"];
    expect(await doneIn(client, ...all.map(page), ...all.map(done))).toEqual(["p2", "p3"]);
  });

  test("but not a client without one: its revision has no such message", async () => {
    const round = await beginTool("plan", steps(page("p1"), done("p1"), ELICIT));
    expect(round.requests["ask_1"].params).not.toHaveProperty("elicitationId");
    const headers = { accept: "application/json, text/event-stream" };
    const next = await goOn(round, { ask_1: { action: "accept" } }, {}, { headers });
    expect(next.result).toMatchObject({ resultType: "input_required" });
  });
});

/** A client that takes no stream cannot be asked, but can open a page and call again. */
describe("an error names the pages", () => {
  const URLS = { elicitation: { url: {} } };
  const headers = { accept: "application/json" };
  const page = { do: "elicit_url", message: "Pay", id: "p1" };

  test("that are to be opened first", async () => {
    const client = await begin({ capabilities: URLS, headers });
    const answer = await client.call("plan", steps(catching(page)));
    expect((await messageIn(answer))["error"]).toEqual({
      code: -32042,
      message: "This call needs its user to open a page first. Ask the user to, then call again.",
      data: { elicitations: [{ ...PAGE, url: "https://page.example/", elicitationId: "p1" }] },
    });
  });

  test("of prompts and returned requests, with ids where the servlet gives none", async () => {
    const client = await begin({ capabilities: URLS, headers });
    const requests = { a: { method: "elicitation/create", params: PAGE } };
    const text = JSON.stringify({ resultType: "input_required", inputRequests: requests });
    const { error } = await messageIn(await client.call("told", { through: "", text }));
    const elicitations = [{ ...PAGE, elicitationId: expect.any(String) }];
    expect(error).toMatchObject({ code: -32042, data: { elicitations } });
  });

  test.each<[what: string, step: Json, options: Parameters<typeof begin>[0]]>([
    ["a client that opens none", page, { capabilities: { elicitation: { form: {} } } }],
    ["an older revision", page, { version: "2025-06-18" }],
    ["a client that is not initialized", page, { ready: false }],
    ["a form", ELICIT, { capabilities: { elicitation: { form: {}, url: {} } } }],
  ])("but not for %s", async (_what, step, options) => {
    const client = await begin({ capabilities: URLS, ...options, headers });
    const answer = await resultIn(await client.call("plan", steps(catching(step))));
    expect(saidIn(answer)).toEqual(["cannot-ask"]);
  });

  test("but not where a form is asked for with it", async () => {
    const client = await begin({ headers });
    const form = { message: "?", requestedSchema: { type: "object" } };
    const asks = {
      a: { method: "elicitation/create", params: PAGE },
      b: { method: "elicitation/create", params: form },
    };
    const call = { through: "inputs", text: JSON.stringify(asks) };
    const { error, result } = await resultIn(await client.call("told", call));
    expect(error).toBeUndefined();
    expect(result.content[0].text).toContain("cannot be asked");
  });

  test("and its client may hear that they are done", async () => {
    const client = await begin({ capabilities: URLS });
    const call = { method: "tools/call", params: { name: "plan", arguments: steps(page) } };
    const answer = await client.post({ jsonrpc: "2.0", id: "call", ...call }, headers);
    expect((await messageIn(answer))["error"].code).toBe(-32042);
    const events = await planned(client, { do: "url_done", id: "p1" });
    expect((await events.message())["params"]).toEqual({ elicitationId: "p1" });
  });
});
