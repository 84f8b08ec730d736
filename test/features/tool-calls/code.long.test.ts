// @module-tag state
// @module-tag carried
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import {
  begin,
  beginTool,
  callOf,
  goOn,
  goOnAsked,
  newAddress,
  prepare,
  serverOf,
  type Json,
} from "../../worker/calls/client.ts";
import { beginTask, updateTask } from "../../worker/calls/faults.ts";
import { later, ring, until } from "../../worker/calls/task-steps.ts";

/** The servlet `code`: scripts that call the tools of the server. */
prepare();

const TIMEOUT = 60_000;

/** A caller of its own, who has some notes. */
async function caller(notes = 3) {
  const sent = { headers: { "cf-connecting-ip": newAddress() } };
  const run = async (code: string) => {
    return outcomeOf(await callOf("run_code", { code }, sent));
  };
  const add = `for (let n = 1; n <= ${notes}; n++) await tools.add_note({ text: "note " + n });`;
  if (notes > 0) await run(add);
  return { sent, run };
}
const outcomeOf = ({ result, error }: Json): string => error?.message ?? textOf(result!);
const textOf = ({ content, isError }: Json) =>
  (isError ? "error: " : "") + content.map(({ text }: Json) => text).join("\n");

const DELETE = `
  const { notes } = await tools.list_notes();
  await Promise.all(notes.map(({ id }) => tools.delete_note({ id })));
`;

describe("what is destructive", () => {
  test(
    "is allowed by the user first, in one question for all calls that are made together",
    { timeout: TIMEOUT },
    async () => {
      const { sent, run } = await caller();
      const round = await beginTool("run_code", { code: DELETE }, sent);
      const [key] = Object.keys(round.requests);
      expect(round.requests[key!].params.message).toBe(
        'code wants to call:\n- delete_note {"id":3}\n- delete_note {"id":2}\n- delete_note {"id":1}\nAllow it?',
      );
      expect(await run("(await tools.list_notes()).notes.length")).toBe("3");
      const { result } = await goOn(round, { [key!]: { action: "accept", content: {} } });
      expect(result!["isError"]).toBeUndefined();
      expect(await run("(await tools.list_notes()).notes.length")).toBe("0");
    },
  );

  test.each(["decline", "cancel"])(
    "is not called if the user says %s, by whatever name a script calls it",
    { timeout: TIMEOUT },
    async (action) => {
      const { sent, run } = await caller(1);
      const code = `
        const all = { read: tools.list_notes, ["delete" + "_note"]: tools["delete_note"] };
        const hidden = Reflect.get(all, ["delete", "note"].join("_"));
        try { await hidden({ id: (await all.read()).notes[0].id }); } catch ({ name, reason }) { console.log(name, reason); }
        await callTool("delete_note", { id: 1 });
      `;
      let round = await beginTool("run_code", { code }, sent);
      const answer = () => ({ [Object.keys(round.requests)[0]!]: { action } });
      round = await goOnAsked(round, answer());
      const { result } = await goOn(round, answer());
      expect(textOf(result!)).toMatch(
        /^error: ToolCallError declined\nToolCallError: .*has not allowed/,
      );
      expect(await run("(await tools.list_notes()).notes.length")).toBe("1");
    },
  );

  test(
    "is not allowed by an answer that came before the question",
    { timeout: TIMEOUT },
    async () => {
      const { sent, run } = await caller(1);
      const allowed = { action: "accept", content: {} };
      const inputResponses = { allow: allowed, one: allowed, agree: allowed };
      const params = { name: "run_code", arguments: { code: DELETE }, inputResponses };
      const round = await begin("tools/call", params, sent);
      const [key] = Object.keys(round.requests);
      expect(round.requests[key!].params.message).toContain("Allow it?");
      expect(await run("(await tools.list_notes()).notes.length")).toBe("1");
      const other = { inputResponses: { [key!]: allowed } };
      const { result } = await goOn(round, {}, other);
      expect(result!["isError"]).toBeUndefined();
      expect(await run("(await tools.list_notes()).notes.length")).toBe("0");
    },
  );

  test("is not called for a client that cannot be asked", { timeout: TIMEOUT }, async () => {
    const { sent, run } = await caller(1);
    const { result } = await callOf("run_code", { code: DELETE }, { ...sent, capabilities: {} });
    expect(textOf(result!)).toMatch(/could not be asked/);
    expect(await run("(await tools.list_notes()).notes.length")).toBe("1");
  });
});

const questionIn = ({ requests }: { requests: Json }): string =>
  Object.values<Json>(requests)[0]!["params"].message;

const ALLOW = { action: "accept", content: {} };

describe("the question whether calls are allowed", { timeout: TIMEOUT }, () => {
  test("has the end of long arguments, says how much is between, and hides no character", async () => {
    const { sent } = await caller(1);
    const text = String.raw`"\u202esafe\u200b" + "x".repeat(5000) + "harm"`;
    const round = await beginTool(
      "run_code",
      { code: `await tools.edit_note({ id: 1, text: ${text} })` },
      sent,
    );
    expect(questionIn(round)).toMatch(
      /- edit_note \{"id":1,"text":"\\u\{202e\}safe\\u\{200b\}x+ … \(\d+ characters more\) … x+harm"\}\n/,
    );
    expect(questionIn(round).length).toBeLessThan(4200);
  });

  test("names the tools of calls that it does not show", async () => {
    const { sent } = await caller(1);
    const code = `
      const edits = Array.from({ length: 22 }, (_, n) => tools.edit_note({ id: 1, text: "t" + n }));
      await Promise.all([...edits, tools.delete_note({ id: 1 })]);
    `;
    const round = await beginTool("run_code", { code }, sent);
    expect(questionIn(round).split("\n").slice(-2)).toEqual([
      "- and 3 more: edit_note (2), delete_note (1)",
      "Allow it?",
    ]);
  });

  test("is one for all calls of a script, however many", async () => {
    const { sent, run } = await caller(1);
    const code = `
      const all = Array.from({ length: 1_100 }, (_, n) => tools.delete_note({ id: n + 1 }));
      (await Promise.allSettled(all)).filter(({ reason }) => reason?.reason === "too-many").length
    `;
    const round = await beginTool("run_code", { code }, sent);
    expect(questionIn(round)).toContain("- and 980 more: delete_note (980)");
    expect(outcomeOf(await goOn(round, { allow: ALLOW }))).toBe("100");
    expect(await run("(await tools.list_notes()).notes.length")).toBe("0");
  });

  test("is for those calls alone that could be made then", async () => {
    const hash = async (scopes: string[]) => {
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("grows"));
      const API_KEYS = JSON.stringify({ grows: { hash: new Uint8Array(digest).toHex(), scopes } });
      return serverOf(bundle, { API_KEYS, LINKS: "off" });
    };
    const sent = {
      server: await hash(["code:*", "notes:*"]),
      headers: { authorization: "Bearer grows" },
    };
    const code = `
      const { id } = await tools.add_note({ text: "a" });
      const all = [tools.delete_note({ id }), tools["counting-next"]()];
      (await Promise.allSettled(all)).map(({ status, reason }) => reason?.reason ?? status)
    `;
    const round = await beginTool("run_code", { code }, sent);
    expect(questionIn(round)).not.toContain("counting");
    const server = await hash(["*:*"]);
    const answer = await goOn(round, { allow: ALLOW }, {}, { server });
    expect(outcomeOf(answer)).toBe('[ "fulfilled", "declined" ]');
  });

  test("is answered by nothing but its own answer", async () => {
    const { sent, run } = await caller(1);
    const round = await beginTool("run_code", { code: DELETE }, sent);
    const other = { "0.allow": ALLOW, ask_1: ALLOW };
    const again = await goOnAsked(round, other);
    expect(again.requests).toEqual(round.requests);
    expect(await run("(await tools.list_notes()).notes.length")).toBe("1");
  });

  test("is that of a task, too", { tags: ["tasks"] }, async () => {
    const code = `
      await sleep(3_600_000);
      const { id } = await tools.add_note({ text: "a" });
      try { await tools.delete_note({ id }); } catch ({ reason }) { console.log(reason); }
      (await tools.list_notes()).notes.some((one) => one.id === id)
    `;
    const id = await beginTask("run_code", { code });
    await later(id, 3_600_000);
    const asking = await until(id, "input_required");
    const [key] = Object.keys(asking["inputRequests"]);
    await updateTask(id, { "0.allow": ALLOW, [`${key}.0`]: ALLOW });
    expect(Object.keys((await until(id, "input_required"))["inputRequests"])).toEqual([key]);
    await updateTask(id, { [key!]: { action: "decline" } });
    await ring(id, 0);
    expect(textOf((await until(id, "completed"))["result"])).toBe("declined\ntrue");
  });
});

describe("a script that", () => {
  test.each([
    ["has no end", "for (;;);", /computed for too long/],
    ["takes all memory", "for (let a = []; ; ) a.push(new Array(1e6).fill(1.5))", /memory/],
    ["waits for nothing", "await new Promise(() => {})", /never settle/],
    ["calls what is not there", "await tools.toString2()", /Unknown tool: toString2/],
    ["calls with wrong arguments", "await tools.search_notes({})", /do not match the input schema/],
    [
      "calls the server's own tools",
      "await tools.get_result({ taskId: 'a' })",
      /Unknown tool: get_result/,
    ],
    ["calls its own tool", "await tools.run_code({ code: '1' })", /whose state is in use/],
    [
      "makes a hundred thousand calls together",
      `const calls = Array.from({ length: 1e5 }, (_, n) => '"' + n + '":{"name":"none"}');
       __host.call("call_tool", "{" + calls.join() + "}")`,
      /computed for too long/,
    ],
    [
      "calls without end",
      "for (;;) await tools.list_notes()",
      /too many calls|computed for too long/,
    ],
  ])(
    "%s ends with a message, and what was there stays",
    { timeout: TIMEOUT },
    async (_how, code, message) => {
      const { run } = await caller(0);
      await run("let kept = 1");
      expect(await run(`kept = 2; ${code}`)).toMatch(message);
      expect(await run("kept")).toBe("1");
    },
  );

  test("prints and shows much is cut", { timeout: TIMEOUT }, async () => {
    const { run } = await caller(0);
    const said = await run(
      'for (let i = 0; i < 100; i++) console.log("x".repeat(1e5)); "y".repeat(1e6)',
    );
    expect(said.length).toBeLessThan(110_000);
  });

  test("is of one caller has nothing of another", { timeout: TIMEOUT }, async () => {
    const [ada, eve] = [await caller(1), await caller(0)];
    await ada.run("globalThis.mine = (await tools.list_notes()).notes");
    expect(await eve.run("typeof mine")).toBe('"undefined"');
    expect(await eve.run("(await tools.list_notes()).notes.length")).toBe("0");
  });
});

test("the question is one line where it is told to a model", { timeout: TIMEOUT }, async () => {
  const { sent } = await caller(1);
  const linked = createApp(new Kernel(bundle, { ...env, LINKS: "on" }));
  const how = { ...sent, server: linked, capabilities: {} };
  const { result } = await callOf("run_code", { code: DELETE }, how);
  expect(textOf(result!)).toContain(
    'The question: code wants to call: - delete_note {"id":1} Allow it?',
  );
});
