import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  clients,
  steps,
  textOf,
  type Answers,
  type SessionClient,
} from "../../../node/http/official.ts";
import { serving } from "../../../node/http/serving.ts";

/** All that a session has, by both official clients, against workerd itself. */
const TEST_LIMITS = JSON.stringify({ changesMs: 50 });
const { url: MCP } = await serving({ variables: { TEST_LIMITS } });
/** Machines are slow at times. */
const SOON = { timeout: 20_000 };

const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};

/** The user's form data, by a word of the question. */
const FORMS: Record<string, object> = {
  Delete: { confirm: true },
  address: { username: "ada", email: "ada@example.org" },
  color: { color: "red" },
  context: { context: "the sea" },
  first: { name: "Ada", confirm: true },
  second: { name: "Bob", confirm: false },
  value: { value: "seven" },
};

const accept = (content: object) => ({ action: "accept", content });
const PARIS = {
  role: "assistant",
  content: { type: "text", text: "Paris" },
  model: "test",
};
const TOOL_USE = { type: "tool_use", id: "u1", name: "look_up", input: {} };

const usual: Answers = {
  "elicitation/create": ({ message, mode }) => {
    if (mode === "url") return { action: "accept" };
    const word = Object.keys(FORMS).find((one) => message.includes(one));
    return accept(word === undefined ? { name: "Ada" } : FORMS[word]!);
  },
  "sampling/createMessage": ({ tools }) =>
    tools ? { ...PARIS, content: [TOOL_USE], stopReason: "toolUse" } : PARIS,
  "roots/list": () => ({ roots: [{ uri: "file:///home", name: "home" }] }),
};

/** Something that is awaited in one place and happens in another. */
function event<T = void>() {
  let happen!: (value: T) => void;
  const happened = new Promise<T>((resolve) => (happen = resolve));
  return { happened, happen };
}

describe.each(Object.entries(clients))("%s", (_name, connect) => {
  let one: SessionClient;
  let answers: Answers;
  const open = (capabilities: object = CAPABILITIES) =>
    connect(MCP, {
      capabilities,
      answers: {
        ...("elicitation" in capabilities && {
          "elicitation/create": (...given) => answers["elicitation/create"]!(...given),
        }),
        ...("sampling" in capabilities && {
          "sampling/createMessage": (...given) => answers["sampling/createMessage"]!(...given),
        }),
        ...("roots" in capabilities && {
          "roots/list": (...given) => answers["roots/list"]!(...given),
        }),
      },
    });
  beforeEach(async () => {
    answers = { ...usual };
    one = await open();
  });
  afterEach(async () => {
    const errors = [...one.errors];
    await one.client.close();
    if (errors.length > 0) throw new AggregateError(errors, errors.join("\n"));
  });

  const params = (method: string, { heard } = one) =>
    heard.filter((message) => message.method === method).map((message) => message.params);
  const plan = (...all: object[]) => one.call("plan", steps(...all));
  const said = async (...all: object[]) => (await plan(...all)).structuredContent.said;

  test("begins one, and ends it", async () => {
    const { client, transport } = one;
    const { sessionId } = transport;
    expect(sessionId).toMatch(/^~[\w-]+$/);
    expect(transport.protocolVersion).toBe("2025-11-25");
    expect(client.getServerCapabilities()).toMatchObject({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    expect(await client.ping()).toEqual({});
    await transport.terminateSession();
    const headers = { "mcp-session-id": sessionId!, accept: "text/event-stream" };
    expect((await fetch(MCP, { headers })).status).toBe(404);
    expect((await fetch(MCP, { headers, method: "DELETE" })).status).toBe(404);
    one.errors.length = 0; // Its stream has ended.
  });

  test("lists, calls, gets and completes", async () => {
    const { client } = one;
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "slow_compute")).toMatchObject({
      execution: { taskSupport: "optional" },
    });
    expect(textOf(await one.call("greet", { name: "Zoë 世界" }))).toBe("Hello, Zoë 世界!");
    await expect(one.call("no_such_tool")).rejects.toMatchObject({ code: -32602 });
    const prompt = { name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } };
    expect(JSON.stringify(await client.getPrompt(prompt))).toContain("arg1='a', arg2='b'");
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: prompt.name },
      argument: { name: "arg1", value: "par" },
    });
    expect(completion.values).toEqual(["paris", "park", "party"]);
    const { contents } = await client.readResource({ uri: "test://static-text" });
    expect(contents).toMatchObject([{ text: expect.stringContaining("static text resource") }]);
    const nothing = client.readResource({ uri: "test://nothing" });
    await expect(nothing).rejects.toThrow("Resource not found: test://nothing");
  });

  test("hears of progress", async () => {
    const heard: number[] = [];
    await one.call("test_tool_with_progress", {}, { onprogress: (p) => heard.push(p.progress) });
    expect(heard).toEqual([0, 50, 100]);
  });

  test("hears the logs of its level", async () => {
    const levels = () => params("notifications/message").map(({ level }) => level);
    await one.call("chatter");
    expect(levels()).toEqual(["debug", "warning", "warning"]);
    await one.client.setLoggingLevel("warning");
    await one.call("chatter");
    expect(levels().slice(3)).toEqual(["warning", "warning"]);
    await one.client.setLoggingLevel("error");
    await one.call("chatter");
    expect(levels().slice(5)).toEqual([]);
  });

  describe("cancels a call", () => {
    const cancel = new AbortController();
    const world = createServer();
    beforeAll(() => once(world.listen(0, "127.0.0.1"), "listening"));
    afterAll(() => {
      world.closeAllConnections();
      world.close();
    });

    test("and its servlet ends", async () => {
      const { port } = world.address() as AddressInfo;
      const requested = once(world, "request");
      const request = { url: `http://127.0.0.1:${port}/`, method: "GET" };
      const call = one.call("fetch", { request }, cancel).then(() => "answered", String);
      const [, response] = (await requested) as [unknown, ServerResponse];
      cancel.abort("enough");
      expect(await call).toContain("enough");
      if (!response.closed) await once(response, "close");
      expect(textOf(await one.call("greet", { name: "Ada" }))).toBe("Hello, Ada!");
    });

    test("and what it has asked is withdrawn", async () => {
      const stopped = new AbortController();
      const withdrawn = event();
      answers["elicitation/create"] = (_params, { signal }) => {
        stopped.abort("enough");
        signal.addEventListener("abort", () => withdrawn.happen());
        return new Promise(() => {});
      };
      await expect(one.call("confirm_delete", { filename: "a" }, stopped)).rejects.toThrow();
      await withdrawn.happened;
      expect(params("notifications/cancelled")).toMatchObject([{ requestId: expect.any(Number) }]);
      Object.assign(answers, usual);
      expect(textOf(await one.call("confirm_delete", { filename: "b" }))).toBe("Deleted b.");
    });
  });

  test.each([
    [
      "test_elicitation",
      { message: "Your address?" },
      'action=accept, content={"username":"ada","email":"ada@example.org"}',
    ],
    ["test_sampling", { prompt: "The capital of France?" }, "LLM response: Paris"],
    ["roots", {}, '{"roots":[{"uri":"file:///home","name":"home"}]}'],
    ["test_input_required_result_list_roots", {}, "file:///home"],
    ["test_input_required_result_multi_round", {}, "Ada likes red."],
    ["test_input_required_result_request_state", {}, "state-ok"],
  ])("is asked by %s", async (name, args, text) => {
    if (name.endsWith("request_state")) answers["elicitation/create"] = () => accept({ ok: true });
    expect(textOf(await one.call(name, args))).toContain(text);
  });

  test.each([
    ["multi_input", {}, 2, 'Got [{"action":"accept","content":{"name":"Ada","confirm":true}},'],
    ["test_input_required_result_multiple_inputs", {}, 3, "Paris Ada has file:///home."],
  ])("is asked for several things at once by %s", async (name, args, count, text) => {
    const all = event();
    let asked = 0;
    for (const [method, answer] of Object.entries(usual)) {
      answers[method as keyof Answers] = async (...given) => {
        if (++asked === count) all.happen();
        await all.happened;
        return answer(...given);
      };
    }
    expect(textOf(await one.call(name, args))).toContain(text);
    expect(asked).toBe(count);
  });

  test("is asked by prompts and resources", async () => {
    const prompt = await one.client.getPrompt({ name: "test_input_required_result_prompt" });
    expect(JSON.stringify(prompt)).toContain("Use this context: the sea");
    const { contents } = await one.client.readResource({ uri: "plan://resource" });
    expect(contents).toMatchObject([{ text: "A resource for Ada" }]);
  });

  test.each([
    ["decline", () => ({ action: "decline" })],
    ["cancel", () => ({ action: "cancel" })],
    [
      "client-error",
      () => {
        throw new Error("The screen is broken.");
      },
    ],
    ["unusable-answer", () => ({ action: "accept", content: { value: 7 } })],
  ])("does not answer: %s", async (outcome, answer) => {
    answers["elicitation/create"] = answer;
    const step = { do: "elicit", message: "A value?", catches: true };
    expect(await said(step)).toEqual([outcome]);
  });

  test("opens a page, and hears that its user is done with it", async () => {
    const page = { do: "elicit_url", message: "Sign in", url: "https://example.org/in", id: "e1" };
    expect(await said(page, { do: "url_done", id: "e1" })).toEqual(["accept", null]);
    const { do: _, id: elicitationId, ...rest } = page;
    expect(params("elicitation/create")).toEqual([{ mode: "url", elicitationId, ...rest }]);
    expect(params("notifications/elicitation/complete")).toEqual([{ elicitationId }]);
  });

  test("opens a page whose servlet gave it no id: these revisions want one", async () => {
    const page = { do: "elicit_url", message: "Sign in", url: "https://example.org/in" };
    expect(await said(page, page)).toEqual(["accept", "accept"]);
    const ids = params("elicitation/create").map(({ elicitationId }) => elicitationId);
    expect(new Set(ids).size).toBe(2);
  });

  test("has its model use tools", async () => {
    const [content] = await said({ do: "sample_tools", message: "Look it up." });
    expect([content].flat()).toEqual([TOOL_USE]);
    expect(params("sampling/createMessage")).toMatchObject([
      { tools: [{ name: "look_up" }], toolChoice: { mode: "required" } },
    ]);
  });

  test("is asked nothing that it did not declare", async () => {
    const other = await open({ elicitation: { url: {} }, sampling: {} });
    const asks = ["sample_tools", "roots"].map((ask) => ({ do: ask, catches: true }));
    const { structuredContent } = await other.call("plan", steps(...asks));
    expect(structuredContent.said).toEqual(asks.map(() => "cannot-ask"));
    expect(other.heard).toEqual([]);
    await other.client.close();
  });

  test("tells servlets that its roots are others", async () => {
    answers["roots/list"] = () => ({ roots: [{ uri: "file:///new" }] });
    await one.client.sendRootsListChanged();
    const notice = { level: "notice", data: expect.stringContaining('[{"uri":"file:///new"}]') };
    await expect.poll(() => params("notifications/message"), SOON).toMatchObject([notice, notice]);
  });

  test("hears of the resources that it has subscribed to", async () => {
    const uri = "test://watched-resource";
    const updated = [
      { do: "updated", url: uri },
      { do: "updated", url: "test://static-text" },
    ];
    const other = await open();
    await one.client.subscribeResource({ uri });
    await other.call("plan", steps(...updated));
    await expect.poll(() => params("notifications/resources/updated"), SOON).toEqual([{ uri }]);
    await one.client.unsubscribeResource({ uri });
    await other.call("plan", steps(...updated, { do: "changed" }));
    const changed = "notifications/resources/list_changed";
    await expect.poll(() => params(changed), SOON).toHaveLength(1);
    expect(params("notifications/resources/updated")).toEqual([{ uri }]);
    expect(params("notifications/resources/updated", other)).toEqual([]);
    await other.client.close();
  });

  test.each(["tool", "prompt"])("hears that the list of %ss has changed", async (list) => {
    const other = await open();
    const method = `notifications/${list}s/list_changed`;
    // The client opens its stream beside other requests, and changes before that are not for it.
    const change = () => other.call(`test_trigger_${list}_change`);
    for (const { heard } of [one, other]) {
      const changed = async () => (await change(), heard.map((message) => message.method));
      await expect.poll(changed, SOON).toContain(method);
    }
    await other.client.close();
  });
});
