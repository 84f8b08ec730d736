/** `npm run bench -- --against COMMIT [ROW…]`: which calls cost more CPU time than at this commit? */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { unstable_readConfig } from "wrangler";
import { objectsIn } from "../objects.ts";
import { buildWorker, serve, stop, type Options } from "../workerd.ts";
import type { Wanted } from "./kinds.ts";
import { inTurn, sideOf, type Round } from "./turns.ts";

const run = promisify(execFile);

/** The rows whose servlets are guests of the tests. */
const IN_GUESTS = new Set(["callTypeScript", "callC", "megabyte", "callStateful", "commit10MB"]);

/** Rows that are about their peer, or need servlets that are installed. */
const LEFT_OUT = new Set(["callBare", "callDeployedBare", "callLoaded", "callStatefulLoaded"]);

/** Slower by more than twice the error and this is marked. */
const MARGIN = 0.02;

/** Builds the Worker of a checkout, whose bundles are made. */
export async function buildCheckout(cwd: string, folder: string): Promise<string> {
  const out = resolve(folder);
  // Wrangler leaves the modules that it has written before, which workerd would load.
  await rm(out, { recursive: true, force: true });
  await run("npx", ["wrangler", "deploy", "--dry-run", "--minify", "--outdir", out], { cwd });
  return out;
}

/** A worktree of a commit with its packages and bundles, which is kept for the next time. */
async function checkoutOf(commit: string): Promise<string> {
  const revision = ["rev-parse", "--verify", `${commit}^{commit}`];
  const folder = resolve(".bundle/against", (await run("git", revision)).stdout.trim());
  const done = join(folder, "test/conformance/bundle.gen.ts");
  if (existsSync(done)) return folder;
  console.error(`Making ${folder}, once, in some minutes …`);
  await rm(folder, { recursive: true, force: true });
  await run("git", ["worktree", "add", "--force", "--detach", folder, commit]);
  const lock = (of: string) => readFile(join(of, "package-lock.json"), "utf8");
  if ((await lock(folder)) === (await lock(".")))
    await symlink(resolve("node_modules"), join(folder, "node_modules"));
  else await run("npm", ["ci"], { cwd: folder });
  await run("npm", ["run", "prebench"], { cwd: folder });
  return folder;
}

/** Serves a row's Worker of a checkout. */
type ServeRow = (name: string) => ReturnType<typeof serve>;

/** The Workers of a checkout, by row. That with the guests of the tests is built where a row needs it. */
async function rowsOf(
  checkout: string,
  name: string,
  variables: Record<string, string>,
): Promise<ServeRow> {
  const scratch = join(".bundle/bench", name);
  const plain = await buildCheckout(checkout, join(scratch, "plain"));
  let guests: Promise<string> | undefined;
  const { vars } = unstable_readConfig({ config: join(checkout, "wrangler.toml") });
  const ownVariables: Record<string, Record<string, string>> = {
    callKey: variables,
    callJwt: variables,
    callDeployed: vars as Record<string, string>,
  };
  const options: Options = { durable: true, objects: objectsIn(checkout) };
  return async (row) => {
    if (!IN_GUESTS.has(row))
      return serve(plain, { ...options, variables: ownVariables[row] ?? {} });
    guests ??= buildWorker(join(checkout, "test/worker/index.ts"), join(scratch, "guests"));
    return serve(await guests, { ...options, variables: { SEASON: "any" } });
  };
}

/** CPU time for each request of all rounds together, in microseconds. */
function cpuOf(rounds: readonly Round[]): number {
  const sum = (of: (round: Round) => number) => rounds.reduce((all, one) => all + of(one), 0);
  return sum(({ cpuUs, count }) => cpuUs * count) / sum(({ count }) => count);
}

/** How often both are served anew for a row: two processes of one Worker differ by up to a tenth, and the first of several is slow. */
const PAIRS = 4;

/**
 * Drives this checkout and the commit in turn, `PAIRS` times in new processes, and prints for each row how much CPU time a call
 * takes here as a multiple of there, and the standard error of that.
 */
export async function benchAgainst(
  commit: string,
  kinds: Readonly<Record<string, Wanted>>,
  {
    only,
    variables,
    rounds,
    ms,
  }: { only: string[]; variables: Record<string, string>; rounds: number; ms: number },
): Promise<void> {
  const [ours, theirs] = [
    await rowsOf(".", "ours", variables),
    await rowsOf(await checkoutOf(commit), "theirs", variables),
  ];
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  console.log(
    `${"".padEnd(18)}${"here us".padStart(10)}${"there us".padStart(10)}   ratio    error`,
  );
  const slower: string[] = [];
  const length = { rounds: Math.ceil(rounds / PAIRS), ms };
  for (const [name, { peer: _, ...wanted }] of Object.entries(kinds)) {
    if (LEFT_OUT.has(name) || (only.length > 0 && !only.includes(name))) continue;
    const here: number[] = [];
    const there: number[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      // Each is the first as often as the other.
      const order = [
        { serveRow: ours, all: here },
        { serveRow: theirs, all: there },
      ];
      if (pair % 2 === 1) order.reverse();
      const servers = [];
      for (const { serveRow } of order) servers.push(await serveRow(name));
      const sides = await Promise.all(servers.map((one) => sideOf(one, wanted)));
      const all = await inTurn(sides, length);
      for (const [at, one] of order.entries()) one.all.push(cpuOf(all[at]!));
      await Promise.all(servers.map(stop));
    }
    const ratio = mean(here) / mean(there);
    const error = Math.hypot(errorOf(here), errorOf(there));
    const isSlower = ratio > 1 + 2 * error + MARGIN;
    if (isSlower) slower.push(name);
    const [ourUs, theirUs] = [here, there].map((us) => String(Math.round(mean(us))).padStart(10));
    console.log(
      `${name.padEnd(18)}${ourUs}${theirUs}   ${ratio.toFixed(3)}   ${percent(error)}${isSlower ? "   slower" : ""}`,
    );
  }
  console.log(`\nslower than ${commit}: ${slower.join(", ") || "none"}`);
}

const mean = (all: readonly number[]): number =>
  all.reduce((sum, one) => sum + one, 0) / all.length;

/** The standard error of a mean, as a share of it. */
function errorOf(all: readonly number[]): number {
  const middle = mean(all);
  const variance = all.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (all.length - 1);
  return Math.sqrt(variance / all.length) / middle;
}
