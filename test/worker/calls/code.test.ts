import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/app.ts";
import { createServer } from "../../../src/server.ts";
import { bundle } from "../../bundle.gen.ts";
import { beginTool, callOf, goOn, goOnAsked, newAddress, prepare, type Json } from "./client.ts";

/** The servlet `code`: scripts that call the tools of the server. */
prepare();

const TIMEOUT = 60_000;

/** A caller of its own, who has some notes. */
async function caller(notes = 3) {
  const sent = { headers: { "cf-connecting-ip": newAddress() } };
  const run = async (code: string) => {
    const { result, error } = await callOf("run_code", { code }, sent);
    return error?.message ?? textOf(result!);
  };
  const add = `for (let n = 1; n <= ${notes}; n++) await tools.add_note({ text: "note " + n });`;
  if (notes > 0) await run(add);
  return { sent, run };
}
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

  test("is not called for a client that cannot be asked", { timeout: TIMEOUT }, async () => {
    const { sent, run } = await caller(1);
    const { result } = await callOf("run_code", { code: DELETE }, { ...sent, capabilities: {} });
    expect(textOf(result!)).toMatch(/could not be asked/);
    expect(await run("(await tools.list_notes()).notes.length")).toBe("1");
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
  const linked = createApp(createServer(bundle, { ...env, LINKS: "on" }));
  const how = { ...sent, server: linked, capabilities: {} };
  const { result } = await callOf("run_code", { code: DELETE }, how);
  expect(textOf(result!)).toContain(
    'The question: code wants to call: - delete_note {"id":1} Allow it?',
  );
});
