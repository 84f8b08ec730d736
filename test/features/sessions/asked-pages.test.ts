import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { HOSTILE, PAGE } from "../../worker/calls/hostile-pages.ts";
import { limited, prepare, type Json } from "../../worker/calls/client.ts";
import { catching, ELICIT, saidIn, steps } from "../../worker/calls/plans.ts";
import {
  Events,
  messageIn,
  resultIn,
  type SessionClient,
} from "../../worker/mcp/legacy/session-client.ts";
import { begin, objectOf, planned } from "../../worker/mcp/legacy/session-steps.ts";

/** Pages that servlets ask users to open: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
prepare();

describe("is not asked for", () => {
  test.each(HOSTILE)("%s", async (_what, changes, said) => {
    const [member, why] = said.split(/: (.*)/s) as [string, string];
    const client = await begin();
    const text = JSON.stringify({ ...PAGE, ...changes });
    const { result } = await resultIn(await client.call("told", { through: "elicit", text }));
    expect(result).toMatchObject({ isError: true });
    const asked = `the ${member} of ask_1 cannot be used: ${why}.`;
    expect(result.content[0].text).toBe(`The servlet asked for input, but ${asked}`);
  });

  test.each(HOSTILE)("%s, by a servlet that returns what it asks", async (_what, changes, said) => {
    const [member, why] = said.split(/: (.*)/s) as [string, string];
    const inputRequests = { a: { method: "elicitation/create", params: { ...PAGE, ...changes } } };
    const text = JSON.stringify({ resultType: "input_required", inputRequests });
    const client = await begin();
    const answer = await resultIn(await client.call("told", { through: "", text }));
    const message = `The servlet needs input, but the ${member} of a cannot be used: ${why}.`;
    expect(answer["error"]).toMatchObject({ code: -32603, message });
  });
});

describe("is asked for", () => {
  const LOOKALIKE = "https://\u0430pple.example/?q=\u0430";
  const SENT = { ...PAGE, url: "https://xn--pple-43d.example/?q=%D0%B0" };
  const text = JSON.stringify({ ...PAGE, url: LOOKALIKE, requestedSchema: {}, token: "t" });

  test("likewise in a session, with an id", async () => {
    const client = await begin();
    const events = new Events(await client.call("told", { through: "elicit", text }));
    const { id, params } = await events.message();
    expect(params).toEqual({ ...SENT, elicitationId: expect.any(String) });
    await client.answer(id, { action: "decline" });
    expect((await events.message())["result"].content[0].text).toBe('{"action":"decline"}');
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
