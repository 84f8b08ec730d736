/**
 * `npm run bench -- firstAnswer`: from the command `dev` to the first answer, in a fresh checkout and in a new project with
 * one servlet, and from a saved file to its answer; beside `wrangler dev` of an empty Worker in the same run. Seconds on the
 * clock, and of CPU time by all processes of the command.
 */
import { execFileSync, spawn } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../workerd.ts";
import { modern } from "./kinds.ts";
import { median } from "./turns.ts";

const ROUNDS = 3;
const PATIENCE_MS = 120_000;

/** A server that is started from a folder, and a file of it. */
interface Start {
  folder: string;
  /** Everything that it has made itself, so that each start is the first. */
  made: string[];
  command: [string, ...string[]];
  ask(port: number): Promise<string>;
  /**
   * A file, a text in it, and the text instead of it that the answer then has; the most seconds that this may take on two
   * quiet cores.
   */
  saved: { file: string; from: string; to: string; target?: number };
}

/** Seconds of CPU time of a process, those that it has started, and those of them that have ended. */
async function cpuSeconds(pid: number): Promise<number> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(
    all.map(async (name) => {
      const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const ticks = fields.slice(11, 15).reduce((sum, one) => sum + Number(one), 0);
      return { pid: Number(name), parent: Number(fields[1]), seconds: ticks / 100 };
    }),
  );
  const of = (root: number): number =>
    stats.reduce(
      (sum, one) =>
        sum + (one.pid === root ? one.seconds : 0) + (one.parent === root ? of(one.pid) : 0),
      0,
    );
  return of(pid);
}

async function measured({ folder, made, command, ask, saved }: Start) {
  for (const path of made) await rm(join(folder, path), { recursive: true, force: true });
  const port = await freePort();
  const [program, ...args] = command;
  const text = await readFile(join(folder, saved.file), "utf8");
  const began = performance.now();
  const child = spawn(program, [...args, `--port=${port}`], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  for (const output of [child.stdout, child.stderr])
    output.on("data", (chunk) => void (said += chunk));
  const until = async (expected: string) => {
    const start = performance.now();
    while (!(await ask(port).catch(() => "")).includes(expected)) {
      if (child.exitCode !== null || performance.now() - start > PATIENCE_MS)
        throw new Error(`${folder} does not answer: ${said}`);
      await pause(20);
    }
    return performance.now();
  };
  try {
    const answered = await until(saved.from);
    const cpu = await cpuSeconds(child.pid!);
    await writeFile(join(folder, saved.file), text.replace(saved.from, saved.to));
    const savedAt = performance.now();
    const again = await until(saved.to);
    return {
      first: (answered - began) / 1000,
      cpu,
      saved: (again - savedAt) / 1000,
      savedCpu: (await cpuSeconds(child.pid!)) - cpu,
    };
  } finally {
    if (child.exitCode === null) process.kill(-child.pid!, "SIGKILL");
    await writeFile(join(folder, saved.file), text);
  }
}

const calling = (name: string, args: object) =>
  asking(modern("tools/call", { name, arguments: args }, name));

const asking =
  ({ headers, body }: ReturnType<typeof modern>) =>
  async (port: number) => {
    const accepted = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const answer = await fetch(`http://localhost:${port}/mcp`, {
      method: "POST",
      headers: { ...accepted, ...headers },
      body,
    });
    return answer.text();
  };

export async function benchFirstAnswer(): Promise<void> {
  const scratch = resolve(".bundle", "bench", "first");
  await rm(scratch, { recursive: true, force: true });
  const empty = join(scratch, "empty");
  await mkdir(empty, { recursive: true });
  await writeFile(
    join(empty, "wrangler.toml"),
    'name = "empty"\nmain = "index.js"\ncompatibility_date = "2026-09-01"\n',
  );
  await writeFile(
    join(empty, "index.js"),
    'export default { fetch: () => new Response("first") };\n',
  );
  const checkout = join(scratch, "checkout");
  execFileSync("git", ["clone", "--quiet", ".", checkout]);
  await symlink(resolve("node_modules"), join(checkout, "node_modules"));
  execFileSync(process.execPath, ["package/build.ts"], { stdio: "ignore" });
  const project = await newProject(scratch, "project");
  const python = await newProject(scratch, "python");
  await rm(join(python, "plugins/hello"), { recursive: true });
  execFileSync("npx", ["edge-servlets", "new", "kitchen", "--lang", "python"], {
    cwd: python,
    stdio: "ignore",
  });
  const starts: Record<string, Start> = {
    "an empty Worker": {
      folder: empty,
      made: [".wrangler"],
      command: [process.execPath, resolve("node_modules/wrangler/bin/wrangler.js"), "dev"],
      ask: async (port) => (await fetch(`http://localhost:${port}/`)).text(),
      saved: { file: "index.js", from: "first", to: "second" },
    },
    "a new project": {
      folder: project,
      made: [".wrangler", ".bundle"],
      command: ["npm", "run", "dev", "--"],
      ask: calling("greet", { name: "Ada" }),
      saved: { file: "plugins/hello/servlet.ts", from: "Hello, ", to: "Good day, ", target: 1 },
    },
    "one in Python": {
      folder: python,
      made: [".wrangler", ".bundle"],
      command: ["npm", "run", "dev", "--"],
      ask: asking(modern("tools/list", {})),
      saved: {
        file: "plugins/kitchen/servlet.py",
        from: "Counts the words",
        to: "Counts all words",
        target: 1.5,
      },
    },
    "this repository": {
      folder: checkout,
      made: [".wrangler", ".bundle", "src/bundle.gen.ts"],
      command: ["npm", "run", "dev", "--"],
      ask: calling("lookup_status", { code: 418 }),
      saved: {
        file: "plugins/http-status/statuses.ts",
        from: "Reserved because",
        to: "Kept because",
        target: 1,
      },
    },
  };
  const took = new Map<string, Awaited<ReturnType<typeof measured>>[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, start] of Object.entries(starts))
      took.set(name, [...(took.get(name) ?? []), await measured(start)]);
  }
  for (const [name, all] of took) {
    const middle = (key: keyof (typeof all)[number]) =>
      median(all.map((one) => one[key]))
        .toFixed(2)
        .padStart(6);
    const { target } = starts[name]!.saved;
    const goal = target === undefined ? "" : `, at most ${target.toFixed(1)} s`;
    console.log(
      `${name.padEnd(16)} first answer ${middle("first")} s (CPU ${middle("cpu")} s), saved file ${middle("saved")} s (CPU ${middle("savedCpu")} s)${goal}`,
    );
  }
}

/** A project as `npm create edge-servlets` makes it, with the packages that this checkout builds. */
async function newProject(scratch: string, called: string): Promise<string> {
  const create = resolve(".bundle/packages/create-edge-servlets/bin/create.js");
  execFileSync(process.execPath, [create, called], { cwd: scratch, stdio: "ignore" });
  const project = join(scratch, called);
  const packages = join(project, "node_modules");
  await mkdir(join(packages, ".bin"), { recursive: true });
  for (const [from, to] of [
    ["edge-servlets", "edge-servlets"],
    ["python", "@edge-servlets/python"],
  ])
    await cp(resolve(".bundle/packages", from!), join(packages, to!), { recursive: true });
  for (const name of await readdir("node_modules", { withFileTypes: true })) {
    if (name.name === ".bin") continue;
    await mkdir(dirname(join(packages, name.name)), { recursive: true });
    await symlink(resolve("node_modules", name.name), join(packages, name.name)).catch(() => {});
  }
  for (const name of await readdir("node_modules/.bin"))
    await symlink(resolve("node_modules/.bin", name), join(packages, ".bin", name));
  // As npm does when it installs a package.
  await chmod(join(packages, "edge-servlets/bin/edge-servlets.js"), 0o755);
  await symlink("../edge-servlets/bin/edge-servlets.js", join(packages, ".bin/edge-servlets"));
  return project;
}
