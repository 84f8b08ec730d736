/** The reporter of the tests: a line that says how far a run is, then what failed and the command that runs it alone. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  MinimalReporter,
  type TestModule,
  type TestRunEndReason,
  type TestSpecification,
} from "vitest/node";

/** How long each file took in the last run, in ms, by its path. */
const TIMES = ".bundle/test-times.json";
/** Where the output is a file, so often is a line written. */
const EVERY_MS = 10_000;

export default class Progress extends MinimalReporter {
  readonly #known = readTimes();
  readonly #left = new Map<string, number>();
  readonly #running = new Set<string>();
  #files = 0;
  #began = 0;
  /** How long all files took in earlier runs, in ms; 0 where most of them have not run here before. */
  #expectedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    const paths = specifications.map(({ moduleId }) => this.relative(moduleId));
    const times = paths.flatMap((path) => this.#known[path] ?? []);
    const usual = times.length === 0 ? 1 : times.reduce((sum, ms) => sum + ms, 0) / times.length;
    for (const path of paths) this.#left.set(path, this.#known[path] ?? usual);
    this.#files = paths.length;
    this.#expectedMs = times.length > paths.length / 2 ? sumOf(this.#left) : 0;
    this.#began = performance.now();
    this.#timer = setInterval(() => this.#show(), this.isTTY ? 200 : EVERY_MS).unref();
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.add(this.relative(module.moduleId));
  }

  override onTestModuleEnd(module: TestModule): void {
    const path = this.relative(module.moduleId);
    this.#running.delete(path);
    this.#left.delete(path);
    this.#known[path] = Math.round(module.diagnostic().duration);
    if (!module.ok()) this.#clear();
    super.onTestModuleEnd(module);
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: Parameters<MinimalReporter["onTestRunEnd"]>[1],
    reason: TestRunEndReason,
  ): void {
    clearInterval(this.#timer);
    this.#clear();
    super.onTestRunEnd(modules, errors, reason);
    const failed = modules.filter((module) => !module.ok()).map(commandsOf);
    if (failed.length > 0) this.log(`\nTo run again what failed:\n${failed.flat().join("\n")}\n`);
    mkdirSync(dirname(TIMES), { recursive: true });
    writeFileSync(TIMES, JSON.stringify(this.#known));
  }

  #show(): void {
    const done = this.#files - this.#left.size;
    const spent = performance.now() - this.#began;
    const share = this.#expectedMs === 0 ? 0 : 1 - sumOf(this.#left) / this.#expectedMs;
    const left = share > 0.02 ? `, some ${duration((spent / share) * (1 - share))} left` : "";
    const names = [...this.#running].map((path) => path.replace(/^test\/|\.test\.ts$/g, ""));
    const line = `${done} of ${this.#files} files in ${duration(spent)}${left}: ${names.join(", ")}`;
    if (this.isTTY) process.stdout.write(`\r\x1b[K${line.slice(0, process.stdout.columns - 1)}`);
    else this.log(line);
  }

  #clear(): void {
    if (this.isTTY) process.stdout.write("\r\x1b[K");
  }
}

/** The commands that run each failed test of a file alone; the file where it failed as a whole. */
function commandsOf(module: TestModule): string[] {
  const command = `  npx vitest run ${module.relativeModuleId}`;
  const names = [...module.children.allTests("failed")].map(({ fullName }) => fullName);
  if (names.length === 0) return [command];
  return names.map((name) => `${command} -t ${quoted(name)}`);
}

/** A test's name as a pattern, in a shell's quotes: its suites stand before it, with spaces between. */
const quoted = (name: string) =>
  `'${name
    .replaceAll(" > ", " ")
    .replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")
    .replaceAll("'", String.raw`'\''`)}'`;

const sumOf = (times: ReadonlyMap<string, number>) =>
  [...times.values()].reduce((sum, ms) => sum + ms, 0);

const duration = (ms: number) =>
  ms < 100_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;

function readTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES, "utf8")) as Record<string, number>;
  } catch {
    return {};
  }
}
