/**
 * The packages of a servlet in Python: those in `vendor/`, and those in `requirements.txt`, which are fetched from a
 * package index and locked by digest in `pylock.toml`:
 * https://packaging.python.org/en/latest/specifications/pylock-toml/
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { compare, valid } from "@renovatebot/pep440";
import { parse, stringify } from "smol-toml";
import * as z from "zod";
import { limits } from "../../tools/bundle/limits.ts";
import { readIfThere, writeIfNew, writeWhole } from "../../tools/bundle/cache.ts";
import { digestOf } from "../../tools/bundle/digests.ts";
import { readablePath, readableText } from "../../tools/bundle/readable-files.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { demandInside } from "../../tools/bundle/servlet-files.ts";
import { bodyOf, requestSource } from "../../tools/bundle/sources/http.ts";
import { inTurns, shared } from "../../tools/bundle/work.ts";
import { adviceOnPackage, isProvided, needsSockets } from "./advice.ts";
import {
  isAmong,
  fitsPython,
  isWanted,
  requirementOf,
  requirementsIn,
  type Requirement,
} from "./requirements.ts";
import { requiredBy, unpackedWheel } from "./wheels.ts";

const REQUIREMENTS = "requirements.txt";
const LOCK = "pylock.toml";
const VENDOR = "vendor";
const INDEX = "https://pypi.org/simple";
const MOST_PACKAGES = 100;
/** Maximum number of a package's extras. Each new extra requires another pass over the package's requirements. */
const MOST_EXTRAS = 100;
/** Packages that have only binary wheels, but run in pure Python if the binary part is missing. */
const COMPILED_IN_PART = new Set(["markupsafe", "pyyaml", "msgpack", "rapidfuzz", "wrapt"]);
const SHA256 = /^[0-9a-f]{64}$/;

const lockSchema = z.looseObject({
  "created-by": z.literal("edge-servlets"),
  packages: z.array(
    z.looseObject({
      name: z.string(),
      version: z.string(),
      wheels: z.tuple([
        z.looseObject({
          url: z.url(),
          hashes: z.looseObject({ sha256: z.string().regex(SHA256) }),
        }),
      ]),
    }),
  ),
  tool: z.looseObject({ "edge-servlets": z.looseObject({ requirements: z.array(z.string()) }) }),
});
type Lock = z.infer<typeof lockSchema>;

/** The wheel of a version of a package. */
interface Candidate {
  version: string;
  url: string;
  sha256: string;
}

/** The folders with the packages of the servlet in this folder. Throws a `Refusal` for an unavailable package. */
export async function packagesOf(
  folder: string,
  cache: string,
  progress: (doing: string) => void,
): Promise<string[]> {
  const vendor = join(folder, VENDOR);
  await demandInside(folder, VENDOR);
  const inside = await readdir(vendor).catch(() => []);
  const given = await inTurns(
    inside.filter((name) => name.endsWith(".whl")).toSorted(),
    async (name) => {
      const path = join(vendor, name);
      const real = (await readablePath(folder, path)) ?? path;
      return unpackedWheel(new Uint8Array(await readFile(real)), path, cache);
    },
  );
  const text = await readableText(folder, join(folder, REQUIREMENTS), { asData: true });
  const wheels = text === undefined ? [] : await locked(folder, text, cache, progress);
  return [...(inside.length > 0 ? [vendor] : []), ...given, ...wheels];
}

/** The folders of the packages in the lock file. Updates the lock file if its requirements differ. */
async function locked(
  folder: string,
  text: string,
  cache: string,
  progress: (doing: string) => void,
): Promise<string[]> {
  const wanted = requirementsIn(text, join(folder, REQUIREMENTS));
  const path = join(folder, LOCK);
  const lines = wanted.map((one) => one.text);
  let lock = await lockAt(path);
  if (JSON.stringify(lock?.tool["edge-servlets"].requirements) !== JSON.stringify(lines)) {
    progress("finding its Python packages");
    lock = await resolved(wanted, lock, cache);
    await writeIfNew(
      path,
      `# Written by the bundle step from ${REQUIREMENTS}. Keep it in version control.\n${stringify(lock)}`,
    );
  }
  return inTurns(lock!.packages, async (one) => {
    const by = `${one.name} ${one.version}`;
    const wheel = await wheelBytes(candidateOf(one), by, cache, progress);
    return unpackedWheel(wheel, by, cache, { mayLack: COMPILED_IN_PART.has(one.name) });
  });
}

async function lockAt(path: string): Promise<Lock | undefined> {
  const bytes = await readIfThere(path);
  if (bytes === undefined) return undefined;
  try {
    return lockSchema.parse(parse(new TextDecoder().decode(bytes)));
  } catch {
    throw new Refusal(
      `${path}: it is no lock file that the bundle step has written: remove it, and it is made from ${REQUIREMENTS}`,
    );
  }
}

/** Chooses versions of all direct and transitive requirements: the locked version if it fits, else the newest. */
async function resolved(
  wanted: readonly Requirement[],
  old: Lock | undefined,
  cache: string,
): Promise<Lock> {
  const required = new Map<string, Requirement[]>();
  const chosen = new Map<string, Candidate & { extras: Set<string>; needs: Requirement[] }>();
  for (const { name, by } of wanted)
    if (needsSockets(name)) throw new Refusal(`${by}: ${adviceOnPackage(name)}`);
  const queue = wanted.filter(
    ({ name, versions }) =>
      !isProvided(name) && !(name === "pydantic" && isAmong("2.12.0", versions)),
  );
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
    const all = required.getOrInsertComputed(one.name, () => []);
    all.push(one);
    const known = chosen.get(one.name);
    // The known version meets all earlier requirements.
    const isFit = known !== undefined && isAllowed(known, [one]);
    if (isFit && one.extras.every((extra) => known.extras.has(extra))) continue;
    const candidate = isFit ? known : (lockedFor(all, old) ?? (await newestFor(all)));
    const extras = new Set(all.flatMap((each) => each.extras));
    if (extras.size > MOST_EXTRAS)
      throw new Refusal(
        `${one.by}: more than ${MOST_EXTRAS} extras of ${one.name} are needed: use fewer`,
      );
    const needs = isFit ? known.needs : await needsOf(one.name, candidate, cache);
    chosen.set(one.name, { ...candidate, extras, needs });
    if (chosen.size > MOST_PACKAGES)
      throw new Refusal(`${one.by}: it needs more than ${MOST_PACKAGES} packages: use fewer`);
    for (const needed of needs)
      if (!isProvided(needed.name) && isWanted(needed.marker, [...extras])) queue.push(needed);
  }
  const packages = [...chosen].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    "lock-version": "1.0",
    "created-by": "edge-servlets",
    "requires-python": "==3.14.*",
    packages: packages.map(([name, { version, url, sha256 }]) => ({
      name,
      version,
      wheels: [{ url, hashes: { sha256 } }],
    })),
    tool: { "edge-servlets": { requirements: wanted.map(({ text }) => text) } },
  };
}

/** All requirements of a package, including those with false markers. */
async function needsOf(name: string, one: Candidate, cache: string): Promise<Requirement[]> {
  const by = `${name} ${one.version}`;
  return requiredBy(await wheelBytes(one, by, cache), by).map((line) => {
    const needed = requirementOf(line, by);
    if (needed !== undefined) return needed;
    throw new Refusal(`${by}: it requires "${line}", which is no version of a package`);
  });
}

/** True if a wheel meets all requirements of its package. */
const isAllowed = ({ version, sha256 }: Candidate, all: readonly Requirement[]) =>
  all.every(
    ({ versions, digests }) =>
      isAmong(version, versions) && (digests.length === 0 || digests.includes(sha256)),
  );

function lockedFor(all: readonly Requirement[], old: Lock | undefined): Candidate | undefined {
  const known = old?.packages.find(({ name }) => name === all[0]!.name);
  const candidate = known && candidateOf(known);
  return candidate && isAllowed(candidate, all) ? candidate : undefined;
}

const candidateOf = ({ version, wheels: [wheel] }: Lock["packages"][number]): Candidate => ({
  version,
  url: wheel.url,
  sha256: wheel.hashes.sha256,
});

/** The index's page of a package: https://packaging.python.org/en/latest/specifications/simple-repository-api/ */
const filesSchema = z.looseObject({
  files: z.array(
    z.looseObject({
      filename: z.string(),
      url: z.string(),
      hashes: z.looseObject({ sha256: z.string().regex(SHA256).optional() }),
      yanked: z.union([z.boolean(), z.string()]).optional(),
      "requires-python": z.string().nullable().optional(),
    }),
  ),
});

/** The newest wheel that meets all requirements of its package. Throws a `Refusal` if there is none in pure Python. */
async function newestFor(all: readonly Requirement[]): Promise<Candidate> {
  const [{ name, by }] = all as [Requirement];
  const { url: index, ...login } = packageIndex();
  const page = await requestSource(new URL(`${name}/`, index), {
    headers: { accept: "application/vnd.pypi.simple.v1+json" },
    maxBytes: limits.sourceBytes,
    ...login,
  });
  if (page.status === 404)
    throw new Refusal(`${by}: there is no package ${name} at ${index.origin}`);
  const files = filesIn(page.status === 200 ? page.body : bodyOf(page), index).flatMap(
    ({ filename, url, hashes, yanked, ...file }) => {
      const match = /^[^-]+-([^-]+)(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl$/.exec(filename);
      if (match === null || (yanked ?? false) !== false || !URL.canParse(url, page.url.href))
        return [];
      const [, version = "", python = "", , platform = ""] = match;
      const isPlain =
        (platform === "any" && /\bpy3/.test(python)) ||
        (COMPILED_IN_PART.has(name) && /^manylinux.*x86_64/.test(platform));
      const place = new URL(url, page.url);
      place.username = place.password = "";
      const candidate = { version, url: place.href, sha256: hashes.sha256 ?? "" };
      if (valid(version) === null || !isAllowed(candidate, all)) return [];
      return fitsPython(file["requires-python"] ?? "") ? [{ ...candidate, isPlain }] : [];
    },
  );
  const plain = files.filter(({ isPlain, sha256 }) => isPlain && sha256 !== "");
  const finals = plain.filter(({ version }) => !/[a-z]/i.test(version.replace(/\.?post\d+$/, "")));
  const [newest] = (finals.length > 0 ? finals : plain).toSorted((a, b) =>
    compare(b.version, a.version),
  );
  if (newest !== undefined) return newest;
  const asked = all.map((one) => `${one.versions} (${one.by})`).join(" and ");
  throw new Refusal(
    files.length > 0
      ? `${by}: ${adviceOnPackage(name)}`
      : `${by}: no wheel of ${name} in plain Python for Python 3.14 fits ${asked.replace(/^ /, "any version ")}`,
  );
}

function filesIn(body: Uint8Array, { origin }: URL) {
  try {
    return filesSchema.parse(JSON.parse(new TextDecoder().decode(body))).files;
  } catch {
    throw new Refusal(
      `${origin}: it does not answer as an index in JSON (https://peps.python.org/pep-0691): name another in PIP_INDEX_URL`,
    );
  }
}

/** The URL of the package index, and the credentials for requests to it. */
function packageIndex() {
  const given = process.env["PIP_INDEX_URL"] ?? INDEX;
  if (!URL.canParse(given)) throw new Refusal("PIP_INDEX_URL is no URL of a package index");
  const url = new URL(given.replace(/\/*$/, "/"));
  const login = [url.username, url.password].map(decodeURIComponent).join(":");
  url.username = url.password = "";
  const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
  return { url, ...(login !== ":" && { credentials: { authorization } }) };
}

/** The cached or fetched wheel. Throws a `Refusal` if its digest differs. */
async function wheelBytes(
  { url, sha256 }: Candidate,
  name: string,
  cache: string,
  progress: (doing: string) => void = () => {},
): Promise<Uint8Array> {
  const path = join(cache, "wheels", `${sha256}.whl`);
  return shared(path, async () => {
    const known = await readIfThere(path);
    if (known !== undefined) return known;
    progress(`fetching ${name}`);
    const { url: index, ...login } = packageIndex();
    const asked = {
      maxBytes: limits.sourceBytes,
      ...(new URL(url).origin === index.origin && login),
    };
    const body = bodyOf(await requestSource(new URL(url), asked));
    const digest = digestOf(body);
    if (digest !== sha256)
      throw new Refusal(`${name}: ${url} has the digest ${digest}, not ${sha256}`);
    await writeWhole(path, body);
    return body;
  });
}
