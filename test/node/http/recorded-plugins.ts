/**
 * Plugins that keep memory and files, served by workerd, answer what a reference host has answered, in order.
 * `PLUGIN_CASES` names the folder that has more of them.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { modern } from "../bench/kinds.ts";
import { givenWorker } from "../given-plugins.ts";
import { serve, stop, type Served } from "../workerd.ts";

const { PLUGIN_CASES = "" } = process.env;
const SETS = {
  "a guest of this project": {
    worker: async () => inject("worker"),
    folder: "test/guests/keeping",
  },
  "the plugins that PLUGIN_CASES names": { worker: givenWorker, folder: PLUGIN_CASES },
};

interface Case {
  servlet: string;
  tool: string;
  arguments: object;
  answer?: unknown;
  error?: string;
  isError?: boolean;
  traps?: boolean;
}

/** The answer of a call, in the shape of a case. */
async function answerOf(port: number, { servlet, tool, arguments: given }: Case) {
  const name = `${servlet}-${tool}`;
  const { body, headers } = modern("tools/call", { name, arguments: given }, name);
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body,
  });
  const text = await response.text();
  const [, event] = /^data: (.*)$/m.exec(text) ?? [];
  const { result, error } = JSON.parse(event ?? text) as {
    result?: { content: { text: string }[]; isError?: boolean };
    error?: { message: string };
  };
  if (result === undefined) return { error: error!.message };
  const said = result.content[0]?.text ?? "";
  if (result.isError && said.startsWith("The servlet crashed")) return { traps: true };
  let answer: unknown = said;
  try {
    answer = JSON.parse(said);
  } catch {}
  return { answer, ...(result.isError && { isError: true }) };
}

/** Tests that the answers are those; a server lives for so many calls, and is killed. */
export function testRecorded(how: string, lives: number): void {
  describe.each(Object.entries(SETS))("%s", (_whose, { worker, folder }) => {
    let built: string;
    let cases: Case[];
    let server: Served | undefined;
    beforeAll(async () => {
      if (folder === "") return;
      built = await worker();
      cases = JSON.parse(await readFile(join(folder, "cases.json"), "utf8")) as Case[];
    }, 900_000);
    afterAll(async () => {
      if (server) await stop(server);
    });

    test.skipIf(folder === "")(how, { timeout: 900_000 }, async () => {
      const storage = join(built, `recorded-${lives}`);
      server = await serve(built, { durable: storage });
      const wrong: unknown[] = [];
      for (const [at, one] of cases.entries()) {
        if (at > 0 && at % lives === 0) {
          await stop(server);
          server = await serve(built, { durable: storage });
        }
        const { servlet, tool, answer, error, isError, traps } = one;
        const expected = traps
          ? { traps: true }
          : error === undefined
            ? { answer, ...(isError && { isError: true }) }
            : { answer: error, isError: true };
        const said = await answerOf(server.port, one);
        if (JSON.stringify(said) !== JSON.stringify(expected))
          wrong.push({ at, servlet, tool, arguments: one.arguments, said, expected });
      }
      expect(wrong).toEqual([]);
      await stop(server);
      server = undefined;
    });
  });
}
