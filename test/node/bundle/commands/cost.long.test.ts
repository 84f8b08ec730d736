import { createServer } from "node:http";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { catalogOf, makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { costOf, type Cost } from "../../../../src/tools/commands/cost.ts";
import { costRows } from "../../../../src/tools/commands/report.ts";
import { table, tokensOfTools } from "../../../../src/tools/commands/table.ts";

/** A servlet with a tool for each way in which a call may end. */
const servlet = (url: string) => `import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod/mini";
const input = { type: "object", properties: {} };
export default defineServlet({
  tools: {
    plain: { description: "", input: z.object({ n: z.number() }), handler: ({ n }) => String(n) },
    defaulted: {
      description: "",
      input,
      handler: (_args, { config }) => { throw new Error([config("URL"), config("BOTH"), config("EMPTY")].join()); },
    },
    configured: { description: "", input, handler: (_args, { config }) => config("KEY") ?? "" },
    fetches: { description: "", input, handler: async () => (await fetch("${url}")).text() },
    asks: {
      description: "",
      input,
      async handler(_args, context) {
        const { action } = await context.elicit({ message: "Go on?", schema: { type: "object", properties: {} } });
        return action;
      },
    },
    waits: {
      description: "",
      input,
      async handler(_args, context) {
        await context.sleep(3_600_000);
        return "done";
      },
    },
    fails: { description: "", input, handler: () => { throw new Error("It is closed."); } },
    loops: { description: "", input, handler: () => { for (;;); } },
    dozes: { description: "", input, async handler(_args, context) { for (;;) await context.sleep(1000); } },
    insists: { description: "", input, async handler() { for (;;) await fetch("${url}").catch(() => {}); } },
    talks: { description: "", input, async handler(_args, context) { for (;;) await context.log("info", "again"); } },
    picky: {
      description: "",
      input: { type: "object", properties: { a: { type: "string", pattern: "^Ω{9}$" } }, required: ["a"] },
      handler: ({ a }) => a,
    },
    warm: {
      description: "",
      input: { type: "object", properties: { a: { type: "string", pattern: "^Ω{9}$" } }, required: ["a"] },
      handler: ({ a }) => a,
    },
  },
});
`;

const MANIFEST = {
  allowed_hosts: ["127.0.0.1"],
  env_vars: {
    KEY: "${A_VARIABLE_THAT_IS_NOT_SET}",
    URL: "${API_URL:-https://api.example}/v1",
    BOTH: "${WITHOUT}${API_URL:-}",
    EMPTY: "${NOTHING:-}",
  },
  compute_limit: 0.05,
  warm: [{ tool: "warm", arguments: { a: "Ω".repeat(9) } }],
};

describe("what calls cost", () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    response.end();
  });
  let folder: string;
  let cost: Cost;
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await mkdir(".bundle", { recursive: true });
    folder = await mkdtemp(join(".bundle", "test-cost-"));
    await mkdir(join(folder, "costs"));
    await writeFile(join(folder, "costs/servlet.js"), servlet(url));
    await writeFile(join(folder, "costs/servlet.json"), JSON.stringify(MANIFEST));
    const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
    const [member] = await makeBundle({ ...options, folders: [folder] });
    cost = await costOf(member!);
  });
  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  const of = (name: string) => cost.tools.find(({ tool }) => tool === name)!;

  test("is measured for each tool, and for the first call", () => {
    expect(cost.tools.map(({ tool }) => tool)).toHaveLength(13);
    expect(cost.firstMs).toBeGreaterThanOrEqual(0);
    for (const name of ["plain", "configured", "warm", "waits"]) {
      expect(of(name)).toMatchObject({ wanted: [], ms: expect.any(Number) });
      expect(of(name).problem).toBeUndefined();
      expect(of(name).fuel).toBeGreaterThan(0);
    }
  });

  test("says what was wanted, which nobody was asked for", () => {
    expect(of("fetches").wanted).toEqual(["an HTTP request"]);
    expect(of("asks").wanted).toEqual(["elicitation/create"]);
    expect(of("waits")).toMatchObject({ wanted: [], waits: true });
    expect(of("plain").waits).toBe(false);
    expect(requests).toBe(0);
  });

  test("says how a call ended that did not succeed", () => {
    expect(of("fails").problem).toMatch(/It is closed\./);
    // Variables are an example, unless the manifest has a default wherever it names them.
    expect(of("defaulted").problem).toBe("https://api.example/v1,example,");
    for (const name of ["loops", "dozes", "insists", "talks"])
      expect(of(name).problem).toMatch(/comput|host requests/);
  });

  test("says that there is no example", () => {
    expect(of("picky").ms).toBeUndefined();
    expect(of("picky").problem).toMatch(/not called: .*`examples`/);
  });
});

test("a crash is reported with the servlet's log", async () => {
  const folder = await mkdtemp(join(".bundle", "test-crash-"));
  try {
    await copyFile("test/node/components/low/waits.wasm", join(folder, "waits.wasm"));
    const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
    const [member] = await makeBundle({ ...options, folders: [folder] });
    const { tools } = await costOf(member!);
    expect(tools.find(({ tool }) => tool === "run")?.problem).toMatch(
      /^The servlet crashed .* Its log: the component broke a rule .*task\.return/,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("the rows of the report", () => {
  const rowsOf = (cost: Cost) => Object.fromEntries(costRows(cost, 10_240));
  const quick = { tool: "quick", ms: 0.5, fuel: 12_345, wanted: [] };
  const slow = { tool: "slow", ms: 9.2, fuel: 9_000_000, wanted: [] };

  test.each<[Cost, RegExp]>([
    [{ firstMs: 8, tools: [quick] }, /^these calls fit: at most 1\.5 ms of 10 ms of CPU/],
    [{ firstMs: 9.5, tools: [quick] }, /^these calls fit, but for the first: at most 1\.5 ms/],
    [{ firstMs: 8, tools: [quick, slow] }, /^slow does not fit: 10\.2 ms of 10 ms/],
    [{ tools: [{ tool: "picky", wanted: [], problem: "not called" }] }, /^not known/],
  ])("%j", (cost, expected) => {
    expect(rowsOf(cost)["free plan"]).toMatch(expected);
    expect(rowsOf(cost)["free plan"]).toContain("10.0 KB of 64 MiB");
  });

  test("have the price of a million calls of the cheapest tool and of the most expensive", () => {
    const price = (...tools: Cost["tools"]) => rowsOf({ tools })["a million"];
    expect(price(quick)).toMatch(/^calls cost \$0\.33 on Workers Paid/);
    expect(price(slow, quick)).toMatch(/^calls cost \$0\.33 to \$0\.50 on Workers Paid/);
    expect(price({ tool: "picky", wanted: [], problem: "not called" })).toBeUndefined();
  });

  test("name each tool, with how far its call came", () => {
    const tools = [
      quick,
      { tool: "fetches", ms: 1, wanted: ["an HTTP request"], problem: "Nothing is sent here." },
      { tool: "fails", ms: 1, fuel: 0, wanted: [], problem: "x".repeat(1000) },
    ];
    expect(costRows({ tools }, 0).slice(0, 3)).toEqual([
      ["calls", "quick: 0.50 ms, 12,345 of fuel"],
      ["", "fetches: 1.0 ms, up to an HTTP request that it did not get"],
      ["", `fails: 1.0 ms, and ended with an error: ${"x".repeat(200)}…`],
    ]);
  });

  test("are none without tools", () => {
    expect(costRows({ tools: [] }, 10_240)).toEqual([]);
  });
});

describe("plugins/code", async () => {
  const folders = ["plugins/code"];
  const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
  const [member] = await makeBundle({ folders, ...options });

  test("is measured with a script that runs", async () => {
    const { tools } = await costOf(member!);
    expect(tools.find(({ tool }) => tool === "run_code")).toEqual(
      expect.not.objectContaining({ problem: expect.anything() }),
    );
  });

  test("has the tokens of its tools in the table of the bundle", () => {
    const tokens = tokensOfTools(member!.lists!);
    expect(tokens).toBeGreaterThan(100);
    const { lists: _, ...asked } = member!;
    const [, , , row] = table([member!, asked]).split("\n");
    expect(table([member!])).toMatch(new RegExp(`^code +hyper-v2 +4 +${tokens} `, "m"));
    expect(row).toMatch(/^code +hyper-v2 +\? +\? /);
  });
});

test("the table of the bundle has no tokens of tools that models do not see", async () => {
  const [member] = await makeBundle({
    folders: ["plugins/reminders"],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
  });
  const tokens = tokensOfTools(catalogOf([member!]).lists);
  expect(tokens).toBeLessThan(tokensOfTools(member!.lists!));
  expect(table([member!])).toMatch(new RegExp(`^reminders +hyper-v2 +4 +${tokens} `, "m"));
});
