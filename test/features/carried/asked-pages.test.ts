import { describe, expect, test } from "vitest";
import { PAGE } from "../../worker/calls/hostile-pages.ts";
import { beginTool, goOn, prepare } from "../../worker/calls/client.ts";
import { ELICIT, steps } from "../../worker/calls/plans.ts";

/** Pages that servlets ask users to open: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
prepare();

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

  test("but not a client without one: its revision has no such message", async () => {
    const round = await beginTool("plan", steps(page("p1"), done("p1"), ELICIT));
    expect(round.requests["ask_1"].params).not.toHaveProperty("elicitationId");
    const headers = { accept: "application/json, text/event-stream" };
    const next = await goOn(round, { ask_1: { action: "accept" } }, {}, { headers });
    expect(next.result).toMatchObject({ resultType: "input_required" });
  });
});
