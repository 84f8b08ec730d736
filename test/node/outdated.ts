/**
 * `npm run outdated`: the dependencies of which a newer version is published, and CPython's parts likewise, with the
 * advisories that docs/python.md does not name. A pre-release counts only for a dependency that is one; `npm outdated`
 * compares with the tag `latest` alone, which some of them never move.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { VERSIONS } from "../../package/python/engine/inputs.ts";
import { newerThanOurs } from "../../package/python/engine/published.ts";

const run = promisify(execFile);

const { dependencies, devDependencies } = JSON.parse(await readFile("package.json", "utf8")) as {
  [kind in "dependencies" | "devDependencies"]: Record<string, string>;
};

/** Words of versions that nobody is meant to depend on. */
const UNRELEASED = /nightly|dev|canary|experimental|\d{8,}-/;

/** The numbers of a version, and its pre-release. */
const partsOf = (version: string) => {
  const [numbers = "", pre = ""] = version.split(/-(.*)/s);
  return { numbers, pre };
};

/** Less than 0 where the first is older. A pre-release is older than its release. */
function compare(first: string, second: string): number {
  const [a, b] = [partsOf(first), partsOf(second)];
  const byNumbers = a.numbers.localeCompare(b.numbers, "en", { numeric: true });
  if (byNumbers !== 0 || a.pre === b.pre) return byNumbers;
  if (a.pre === "" || b.pre === "") return a.pre === "" ? 1 : -1;
  return a.pre.localeCompare(b.pre, "en", { numeric: true });
}

const pinned = Object.entries({ ...dependencies, ...devDependencies }).filter(
  ([, version]) => !version.startsWith("npm:"),
);

/** The newest release of a dependency, in the registry of npm. */
async function newestOf(name: string, version: string): Promise<string> {
  const { stdout } = await run("npm", ["view", name, "versions", "--json"]);
  const published = [JSON.parse(stdout) as string | string[]].flat();
  const isPre = partsOf(version).pre !== "";
  return published
    .filter((one) => !UNRELEASED.test(one) && (isPre || partsOf(one).pre === ""))
    .reduce((best, one) => (compare(one, best) > 0 ? one : best), version);
}

/** Says that a registry cannot be read. The command then fails. */
function notCompared(what: string, registries: string, error: unknown): void {
  console.log(`${what} are not compared, as ${registries} cannot be read: ${String(error)}`);
  process.exitCode = 1;
}

try {
  const rows = await Promise.all(
    pinned.map(async ([name, version]) => ({
      name,
      version,
      newest: await newestOf(name, version),
    })),
  );
  const behind = rows.filter(({ version, newest }) => version !== newest);
  for (const { name, version, newest } of behind) console.log(`${name}  ${version} → ${newest}`);
  console.log(`${behind.length} of ${rows.length} dependencies are behind.`);
} catch (error) {
  notCompared("Dependencies", "npm's registry", error);
}

console.log(
  `CPython's library ${VERSIONS.library}, its C code ${VERSIONS.interpreter}, Expat ${VERSIONS.expat}:`,
);
try {
  const documented = await readFile("docs/python.md", "utf8");
  const newer = await newerThanOurs(documented);
  console.log(newer.length === 0 ? "nothing newer is published." : newer.join("\n"));
} catch (error) {
  notCompared("They", "Debian or PyPI", error);
}
