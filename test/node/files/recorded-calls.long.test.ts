import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { InitialFiles } from "../../../src/server/kernel/files/file-store.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { callExport, type Ending } from "../../../src/server/kernel/wasm/call.ts";
import { nobody } from "../../../src/server/kernel/wasm/pool.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";
import { programOf } from "../bundle/wasm/wat-guests.ts";
import { givenWorker } from "../given-plugins.ts";
import { newStore } from "./database.ts";

/**
 * Calls of plugins as a reference host answered them, in order. Memory is newborn in each call here, so
 * what depends on memory is left out. The folder's README says what the rows have.
 */
const FOLDER = process.env["PLUGIN_CASES"];

interface Case {
  servlet: string;
  tool: string;
  arguments: object;
  answer?: unknown;
  isError?: boolean;
  traps?: boolean;
}

const initial: Record<string, InitialFiles> = {
  files: {
    digest: "1",
    files: () => [{ path: "r.txt", bytes: new TextEncoder().encode("readme") }],
  },
};
const mounts = parseMounts(["data:/data", "ro:files:/readonly"]);
const REQUESTS: Record<string, { name: string; request: (call: object) => object }> = {
  files: { name: "call", request: (params) => ({ params }) },
  diary: { name: "call", request: (params) => ({ params }) },
  ledger: { name: "call_tool", request: (request) => ({ request }) },
};

/** A call's answer, in the shape of a case. */
function answerOf(ending: Ending): Pick<Case, "answer" | "isError" | "traps"> {
  if (ending.kind === "trapped") return { traps: true };
  if (ending.kind !== "returned") throw new Error(`the call was ${ending.kind}`);
  const { content, isError } = JSON.parse(ending.output!) as {
    content: { text: string }[];
    isError: boolean;
  };
  return { answer: JSON.parse(content[0]!.text) as unknown, ...(isError && { isError }) };
}

describe.skipIf(FOLDER === undefined)(
  "recorded calls of plugins (PLUGIN_CASES names their folder)",
  async () => {
    const cases =
      FOLDER === undefined
        ? []
        : (JSON.parse(await readFile(join(FOLDER, "cases.json"), "utf8")) as Case[]);

    test.each(["files", "ledger", "diary"])("%s", { timeout: 600_000 }, async (servlet) => {
      await givenWorker();
      const program = await programOf(
        new Uint8Array(await readFile(join(FOLDER!, servlet, "plugin.wasm"))),
      );
      const { name, request } = REQUESTS[servlet]!;
      const { database, store } = newStore();
      const own = cases.filter((one) => one.servlet === servlet && one.tool !== "calls");
      expect(own.length).toBeGreaterThan(10);
      for (const { tool, arguments: given, answer, isError, traps } of own) {
        const now = BigInt(Date.now()) * 1_000_000n;
        const files = store.begin(mounts, { now, initial });
        const input = JSON.stringify(request({ name: tool, arguments: given }));
        const setup = { ...nobody, world: liveWorld, files };
        const ending = await callExport(program, name, input, setup);
        if (ending.kind === "trapped") files.drop();
        else database.transaction(() => files.commit({ keepsOpen: false }));
        const expected = traps ? { traps } : { answer, ...(isError && { isError }) };
        expect({ tool, given, ...answerOf(ending) }).toEqual({ tool, given, ...expected });
      }
    });
  },
);
