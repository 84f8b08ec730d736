/**
 * `npm run bench -- context`: what a model must read to use 10 to 1,000 tools, in tokens; and ten tasks done by calls of the
 * model, by a script (`run_code`), and by a script under `@cloudflare/codemode`, which calls the same tools.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { OBJECTS } from "../objects.ts";
import { cpuMs, serve, stop, type Served } from "../workerd.ts";
import { Client } from "./context/client.ts";
import { profiles, SIZES, writeRecords } from "./context/records.ts";
import { workflows, type Workflow } from "./context/workflows.ts";
import { buildBundle } from "./plugins.ts";
import { median } from "./turns.ts";

const SCRATCH = join(".bundle", "bench", "context");
const CODE = "plugins/code";
const PLUGINS = ["chart", "http-status", "notes", "tasks"].map((one) => `plugins/${one}`);
const GUESTS = ["metrics", "tracker"].map((one) => join(import.meta.dirname, "servlets", one));
const CODEMODE = "test/worker/codemode.ts";

const ROUNDS = 5;
const ROUND_MS = 400;
/** Tokens that a model may read of 300 tools before its first call. */
const MOST_TOKENS = 1500;
/** What passes through the model of a script with so many calls, as a share of the calls themselves. */
const [CALLS, SHARE] = [20, 0.03];

export async function benchContext(): Promise<void> {
  await rm(SCRATCH, { recursive: true, force: true });
  await showTokens();
  await showWorkflows();
  await rm(SCRATCH, { recursive: true, force: true });
}

const bundled = (folders: string[]) =>
  makeBundle({ folders, languages: LANGUAGES, cache: ".bundle", progress: () => {} });
const row = (first: string, cells: readonly (string | number)[]) =>
  console.log(first.padEnd(26) + cells.map((cell) => String(cell).padStart(10)).join(""));
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const goal = (what: string, isMet: boolean) => console.log(`${what}: ${isMet ? "met" : "missed"}`);

async function showTokens(): Promise<void> {
  const records = join(SCRATCH, "records");
  await writeRecords(records);
  const folder = await buildBundle(await bundled([CODE, records]), SCRATCH, { profiles });
  const served = await serve(folder, { durable: true });
  console.log("Tokens that a model reads to use so many tools (o200k_base)");
  row("", SIZES);
  const ways = { listed: "all listed", search: "by search", code: "by code" } as const;
  for (const [way, title] of Object.entries(ways)) {
    const clients = SIZES.map((size) => new Client(served.port, `/mcp/${way}-${size}`));
    const tokens = await Promise.all(clients.map(tokensListed));
    row(title, tokens);
    if (way === "listed") continue;
    const found = await Promise.all(clients.map(tokensFound));
    row(
      "  and of one search",
      tokens.map((one, at) => one + found[at]!),
    );
    const of300 = tokens[SIZES.indexOf(300)]!;
    goal(
      `  300 tools ${title}: ${of300} at first (goal: below ${MOST_TOKENS})`,
      of300 < MOST_TOKENS,
    );
  }
  await stop(served);
}

/** Tokens of what a client gives its model of the tools that are listed. */
async function tokensListed(client: Client): Promise<number> {
  const tools = await client.list();
  const told = tools.map(({ name, description, inputSchema }) =>
    JSON.stringify({ name, description, input_schema: inputSchema }),
  );
  return countTokens(told.join("\n"));
}

async function tokensFound(client: Client): Promise<number> {
  const { content } = await client.call("search_tools", { query: "create an invoice" });
  return countTokens(content.map(({ text }) => text).join("\n"));
}

/** A task that is done: the text that its script has returned, and the client whose model has done it. */
interface Done {
  said: string;
  client: Client;
}

/** How a task is done. */
interface Way {
  title: string;
  served: Served;
  run(workflow: Workflow, port: number): Promise<Done>;
}

const AsyncFunction = (async () => {}).constructor as new (
  ...parts: string[]
) => (tools: Client["tools"]) => Promise<string>;

/** Calls the tools one by one. */
async function directly({ script }: Workflow, port: number): Promise<Done> {
  const client = new Client(port);
  return { said: await new AsyncFunction("tools", script)(client.tools), client };
}

async function byScript({ script }: Workflow, port: number): Promise<Done> {
  const client = new Client(port);
  const code = `(async () => {\n${script}\n})()`;
  const { structuredContent, content, isError } = await client.call("run_code", { code });
  if (isError === true) throw new Error(content[0]!["text"]);
  const { value } = structuredContent as { value: string };
  return { said: JSON.parse(value) as string, client };
}

const byCodemode =
  (path: string) =>
  async (workflow: Workflow, port: number): Promise<Done> => {
    const body = `async () => {\n${workflow.script}\n}`;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body });
    const { result, error } = (await response.json()) as { result: string; error?: string };
    if (error !== undefined) throw new Error(error);
    return { said: result, client: new Client(port) };
  };

/** CPU time of the server's process, and time until the answer, in ms. */
interface Cost {
  cpu: number;
  wall: number;
}

async function costOf({ run, served }: Way, workflow: Workflow): Promise<Cost> {
  const [began, before] = [performance.now(), await cpuMs(served)];
  let runs = 0;
  for (; performance.now() - began < ROUND_MS; runs++) await run(workflow, served.port);
  const wall = (performance.now() - began) / runs;
  return { cpu: ((await cpuMs(served)) - before) / runs, wall };
}

async function showWorkflows(): Promise<void> {
  const members = await bundled([CODE, ...PLUGINS, ...GUESTS]);
  const ours = await serve(await buildBundle(members, SCRATCH), { durable: true });
  const peer = await serve(await buildBundle(members, SCRATCH, { before: CODEMODE }), {
    durable: true,
    loader: true,
    objects: { ...OBJECTS, AGENT: "Agent" },
  });
  const ways: Way[] = [
    { title: "direct", served: ours, run: directly },
    { title: "run_code", served: ours, run: byScript },
    { title: "executor", served: peer, run: byCodemode("/codemode") },
    { title: "runtime", served: peer, run: byCodemode("/codemode/durable") },
  ];
  try {
    for (const { port } of [ours, peer]) await furnish(new Client(port));
    await showBytes(ways);
    await showCosts(ways);
  } finally {
    await Promise.all([ours, peer].map(stop));
  }
}

/** What the tasks find there. */
async function furnish(client: Client): Promise<void> {
  for (let at = 1; at <= 9; at++) await client.call("add_task", { text: `Plan ${at}` });
  for (let at = 1; at <= 5; at++) await client.call("add_note", { text: `Note ${at}` });
}

/** What passes through the model. Throws where a way gives something else than the others. */
async function showBytes(ways: readonly Way[]): Promise<void> {
  console.log("\nTasks: calls of tools and turns of a model, and bytes that it writes and reads");
  row("", ["calls", "turns", "bytes", "by script", "share"]);
  let [all, allByScript] = [0, 0];
  for (const workflow of workflows) {
    const done: Done[] = [];
    for (const { run, served } of ways) done.push(await run(workflow, served.port));
    const [direct, script] = done.map(({ client }) => client) as [Client, Client];
    const said = new Set(done.map((one) => one.said));
    if (said.size > 1) throw new Error(`${workflow.name}: ${[...said].join(" ≠ ")}`);
    const share = script.bytes / direct.bytes;
    all += direct.bytes;
    allByScript += script.bytes;
    row(workflow.name, [direct.calls, direct.turns, direct.bytes, script.bytes, percent(share)]);
    if (direct.calls === CALLS)
      goal(
        `  ${CALLS} calls: ${script.turns} turn, ${percent(share)} of the bytes (goal: 1, ${percent(SHARE)})`,
        script.turns === 1 && share <= SHARE,
      );
  }
  row("all", ["", "", all, allByScript, percent(allByScript / all)]);
}

/** What a task costs, in rounds of all tasks, each done in all ways in turn. */
async function showCosts(ways: readonly Way[]): Promise<void> {
  const costs = new Map(workflows.map((one) => [one, ways.map((): Cost[] => [])]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [workflow, all] of costs) {
      for (const [at, way] of ways.entries()) {
        const cost = await costOf(way, workflow);
        // The first round is for the compilers.
        if (round > 0) all[at]!.push(cost);
      }
    }
  }
  const titles = ways.map(({ title }) => title);
  console.log("\nCPU time of the server, and time until the answer, in ms");
  row("", [...titles, ...titles]);
  for (const [{ name }, all] of costs) {
    const middle = (key: keyof Cost) =>
      all.map((rounds) => median(rounds.map((one) => one[key])).toFixed(1));
    row(name, [...middle("cpu"), ...middle("wall")]);
  }
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
  for (const at of [2, 3]) {
    // The executor asks nobody.
    const same = [...costs].filter(([{ asks }]) => at === 3 || asks !== true);
    const total = (way: number, round: number) =>
      same.reduce((sum, [, all]) => sum + all[way]![round]!.cpu, 0);
    const ratios = rounds.map((round) => total(1, round) / total(at, round));
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((one) => one.toFixed(2));
    goal(
      `${same.length} tasks by run_code: ${median(ratios).toFixed(2)} times the CPU time of codemode's ${titles[at]} (${least} to ${most}; goal: 1)`,
      median(ratios) <= 1,
    );
  }
}
