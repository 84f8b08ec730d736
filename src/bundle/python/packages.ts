/**
 * The packages of a servlet in Python: what `requirements.txt` names, fetched from a package index and locked by digest in
 * `pylock.toml` beside it (https://packaging.python.org/en/latest/specifications/pylock-toml/), and what lies in `vendor/`.
 */
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { compare, satisfies } from "@renovatebot/pep440";
import { unzipSync } from "fflate";
import { parse, stringify } from "smol-toml";
import * as z from "zod";
import { limits } from "../../core/limits.ts";
import { readIfThere, writeIfNew, writeWhole } from "../cache.ts";
import { Refusal } from "../refusal.ts";
import { requestSource } from "../sources/http.ts";
import { inTurns, shared } from "../work.ts";
import { adviceOn } from "./advice.ts";

const REQUIREMENTS = "requirements.txt";
const LOCK = "pylock.toml";
const INDEX = "https://pypi.org/simple";
/** What a servlet runs on, as the markers of packages ask for it: https://peps.python.org/pep-0508 */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  python_version: "3.14",
  python_full_version: "3.14.0",
  os_name: "posix",
  sys_platform: "wasi",
  platform_system: "WASI",
  platform_machine: "wasm32",
  platform_python_implementation: "CPython",
  implementation_name: "cpython",
};
const MOST_PACKAGES = 100;

interface Requirement {
  name: string;
  /** The versions that fit: https://peps.python.org/pep-0440/#version-specifiers */
  versions: string;
  extras: string[];
  marker: string;
  /** Who requires it: a line of a file, or a package. */
  by: string;
}

const lockSchema = z.looseObject({
  "lock-version": z.string(),
  packages: z.array(
    z.looseObject({
      name: z.string(),
      version: z.string(),
      wheels: z.array(
        z.looseObject({ url: z.string(), hashes: z.looseObject({ sha256: z.string() }) }),
      ),
    }),
  ),
  tool: z
    .looseObject({ "edge-servlets": z.looseObject({ requirements: z.array(z.string()) }) })
    .optional(),
});
type Lock = z.infer<typeof lockSchema>;
type Locked = Lock["packages"][number];

/** The folders that have the packages of the servlet in this folder. Throws a `Refusal` for one that cannot be had. */
export async function packagesOf(
  folder: string,
  cache: string,
  progress: (doing: string) => void,
): Promise<string[]> {
  const vendor = join(folder, "vendor");
  const isThere = await stat(vendor).then(
    (one) => one.isDirectory(),
    () => false,
  );
  const text = await readFile(join(folder, REQUIREMENTS), "utf8").catch(() => undefined);
  const wheels = text === undefined ? [] : await locked(folder, text, cache, progress);
  return [...(isThere ? [vendor] : []), ...wheels];
}

async function locked(
  folder: string,
  text: string,
  cache: string,
  progress: (doing: string) => void,
): Promise<string[]> {
  const wanted = requirementsIn(text, join(folder, REQUIREMENTS));
  const path = join(folder, LOCK);
  const known = await readIfThere(path);
  const lines = wanted.map(({ name, versions, extras, marker }) =>
    JSON.stringify([name, versions, extras, marker]),
  );
  let lock = known && lockOf(known, path);
  const isFit =
    lock !== undefined &&
    JSON.stringify(lock.tool?.["edge-servlets"].requirements) === JSON.stringify(lines);
  if (!isFit) {
    progress("finding its Python packages");
    lock = await resolved(wanted, lock, cache);
    lock.tool = { "edge-servlets": { requirements: lines } };
    await writeIfNew(
      path,
      `# Written by the bundle step from ${REQUIREMENTS}. Keep it in version control.\n${stringify(lock)}`,
    );
  }
  return inTurns(lock!.packages, ({ name, version, wheels: [wheel] }) =>
    unpackedWheel(wheel!, `${name} ${version}`, cache, progress),
  );
}

function lockOf(bytes: Uint8Array, path: string): Lock {
  try {
    return lockSchema.parse(parse(new TextDecoder().decode(bytes)));
  } catch {
    throw new Refusal(`${path}: it is no lock file of packages: delete it, and it is written anew`);
  }
}

/** The requirements of a text in the form of pip. Throws a `Refusal` for a line that is no such thing. */
function requirementsIn(text: string, file: string): Requirement[] {
  const lines = text.replaceAll(/\\\r?\n/g, " ").split("\n");
  return lines.flatMap((line, nth) => {
    const bare = line
      .replace(/(^|\s)#.*$/, "")
      .replaceAll(/\s--hash=\S+/g, "")
      .trim();
    if (bare === "") return [];
    const found = requirementOf(bare, `${file}:${nth + 1}`);
    if (found === undefined)
      throw new Refusal(
        `${file}:${nth + 1}: write a package and its version, such as jinja2==3.1.6, not ${bare}`,
      );
    return isWanted(found.marker, []) ? [found] : [];
  });
}

function requirementOf(text: string, by: string): Requirement | undefined {
  const match =
    /^([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*(?:\(([^)]*)\)|((?:[<>=!~]=?|===)[^;]*))?\s*(?:;(.*))?$/.exec(
      text,
    );
  if (match === null) return undefined;
  const [, name = "", extras = "", inBrackets, plain, marker = ""] = match;
  return {
    name: normal(name),
    versions: (inBrackets ?? plain ?? "").trim(),
    extras: extras
      .split(",")
      .map((one) => normal(one.trim()))
      .filter(Boolean),
    marker: marker.trim(),
    by,
  };
}

/** A name of a package in one form: https://peps.python.org/pep-0503 */
const normal = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, "-");

/** True if a marker is true here. One that cannot be read counts as true: a package too many does no harm. */
function isWanted(marker: string, extras: readonly string[]): boolean {
  if (marker === "") return true;
  const tokens = marker.match(/\(|\)|"[^"]*"|'[^']*'|[<>=!~]=?=?|not\s+in|\w+/g) ?? [];
  let at = 0;
  const either = (): boolean => {
    let value = both();
    while (tokens[at] === "or") {
      at++;
      value = both() || value;
    }
    return value;
  };
  const both = (): boolean => {
    let value = one();
    while (tokens[at] === "and") {
      at++;
      value = one() && value;
    }
    return value;
  };
  const one = (): boolean => {
    if (tokens[at] === "(") {
      at++;
      const value = either();
      at++;
      return value;
    }
    const [left = "", operator = "", right = ""] = tokens.slice(at, (at += 3));
    if (left === "extra") {
      const isAsked = extras.includes(normal(right.slice(1, -1)));
      return operator === "!=" ? !isAsked : isAsked;
    }
    const valueOf = (token: string) =>
      /^["']/.test(token) ? token.slice(1, -1) : (ENVIRONMENT[token] ?? "");
    const [a, b] = [valueOf(left), valueOf(right)];
    if (operator === "in") return b.includes(a);
    if (operator.startsWith("not")) return !b.includes(a);
    if (/version/.test(`${left}${right}`)) return satisfies(a, `${operator}${b}`);
    return operator === "!=" ? a !== b : operator === "==" ? a === b : true;
  };
  return either();
}

interface Candidate {
  version: string;
  url: string;
  sha256: string;
}

/** Chooses a version of each package that is required, and of those that these require, newest first; as locked where that fits. */
async function resolved(
  wanted: readonly Requirement[],
  old: Lock | undefined,
  cache: string,
): Promise<Lock> {
  const specs = new Map<string, Requirement[]>();
  const chosen = new Map<string, Candidate & { extras: Set<string> }>();
  const queue = [...wanted];
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
    const all = [...(specs.get(one.name) ?? []), one];
    specs.set(one.name, all);
    const known = chosen.get(one.name);
    const isNew = one.extras.some((extra) => !known?.extras.has(extra));
    if (known !== undefined && fits(known.version, [one]) && !isNew) continue;
    const candidate = known && fits(known.version, all) ? known : await candidateFor(all, old);
    const extras = new Set(all.flatMap((each) => each.extras));
    chosen.set(one.name, { ...candidate, extras });
    if (chosen.size > MOST_PACKAGES)
      throw new Refusal(`${one.by}: it needs more than ${MOST_PACKAGES} packages: use fewer`);
    const wheel = await wheelBytes(candidate, `${one.name} ${candidate.version}`, cache);
    for (const line of metadataOf(wheel)) {
      const needed = requirementOf(line, `${one.name} ${candidate.version}`);
      if (needed !== undefined && isWanted(needed.marker, [...extras])) queue.push(needed);
    }
  }
  const packages = [...chosen].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    "lock-version": "1.0",
    "created-by": "edge-servlets",
    "requires-python": "==3.14.*",
    packages: packages.map(([name, { version, url, sha256 }]): Locked => ({
      name,
      version,
      wheels: [{ url, hashes: { sha256 } }],
    })),
  };
}

const fits = (version: string, all: readonly Requirement[]) =>
  all.every(({ versions }) => versions === "" || satisfies(version, versions));

const filesSchema = z.looseObject({
  files: z.array(
    z.looseObject({
      filename: z.string(),
      url: z.string(),
      hashes: z.looseObject({ sha256: z.string().optional() }),
      yanked: z.union([z.boolean(), z.string()]).optional(),
      "requires-python": z.string().nullable().optional(),
    }),
  ),
});

/** The wheel to use for these requirements of one package. Throws a `Refusal` where there is none in plain Python. */
async function candidateFor(
  all: readonly Requirement[],
  old: Lock | undefined,
): Promise<Candidate> {
  const [{ name, by }] = all as [Requirement];
  const known = old?.packages.find((one) => one.name === name && fits(one.version, all));
  if (known !== undefined)
    return {
      version: known.version,
      url: known.wheels[0]!.url,
      sha256: known.wheels[0]!.hashes.sha256,
    };
  const index = new URL(`${process.env["PIP_INDEX_URL"] ?? INDEX}`.replace(/\/*$/, `/${name}/`));
  const { username, password } = index;
  index.username = index.password = "";
  const { status, body, url } = await requestSource(index, {
    headers: { accept: "application/vnd.pypi.simple.v1+json" },
    ...(username !== "" && {
      credentials: {
        authorization: `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`,
      },
    }),
    maxBytes: limits.sourceBytes,
  });
  if (status !== 200)
    throw new Refusal(`${by}: there is no package ${name} at ${url.origin}: it answered ${status}`);
  const { files } = filesSchema.parse(JSON.parse(body.toString()));
  const fitting = files.flatMap((file) => {
    const match = /^[^-]+-([^-]+)(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl$/.exec(file.filename);
    if (match === null || (file.yanked ?? false) !== false) return [];
    const [, version = "", python = "", , platform = ""] = match;
    const needs = file["requires-python"];
    if (!fits(version, all) || (needs && !satisfies(ENVIRONMENT["python_full_version"]!, needs)))
      return [];
    const isPlain = platform === "any" && python.split(".").some((one) => /^py3/.test(one));
    return [
      { version, isPlain, url: new URL(file.url, url).href, sha256: file.hashes.sha256 ?? "" },
    ];
  });
  const plain = fitting.filter(({ isPlain, sha256 }) => isPlain && sha256 !== "");
  const isFinal = (version: string) => !/[a-z]/i.test(version.replace(/\.post\d+$/, ""));
  const finals = plain.filter(({ version }) => isFinal(version));
  const [newest] = (finals.length > 0 ? finals : plain)
    .map(({ version }) => version)
    .toSorted(compare)
    .reverse();
  const found = plain.find(({ version }) => version === newest);
  if (found !== undefined) return found;
  const versions = all
    .map((one) => one.versions)
    .filter(Boolean)
    .join(",");
  throw new Refusal(
    fitting.length > 0
      ? `${by}: ${name} is not in plain Python: ${adviceOn(name)}`
      : `${by}: there is no wheel of ${name}${versions === "" ? "" : ` ${versions}`} for Python 3.14 in plain Python`,
  );
}

/** What a wheel says that it requires. */
function metadataOf(wheel: Uint8Array): string[] {
  const files = unzipSync(wheel, {
    filter: ({ name }) => /^[^/]+\.dist-info\/METADATA$/.test(name),
  });
  const [text = new Uint8Array()] = Object.values(files);
  const [head = ""] = new TextDecoder().decode(text).split(/\r?\n\r?\n/);
  return [...head.matchAll(/^Requires-Dist:\s*(.*)$/gm)].map(([, line]) => line!.trim());
}

async function wheelBytes(
  { url, sha256 }: Pick<Candidate, "url" | "sha256">,
  name: string,
  cache: string,
): Promise<Uint8Array> {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Refusal(`${name}: ${LOCK} has no digest of it`);
  const path = join(cache, "wheels", `${sha256}.whl`);
  return shared(path, async () => {
    const known = await readIfThere(path);
    if (known !== undefined) return known;
    const { status, body } = await requestSource(new URL(url), { maxBytes: limits.sourceBytes });
    if (status !== 200) throw new Refusal(`${name}: ${url} answered ${status}`);
    const digest = createHash("sha256").update(body).digest("hex");
    if (digest !== sha256)
      throw new Refusal(`${name}: ${url} has the digest ${digest}, not ${sha256}`);
    await writeWhole(path, body);
    return new Uint8Array(body);
  });
}

/** The folder with the modules of a wheel. Throws a `Refusal` for one with parts that are compiled for a computer. */
async function unpackedWheel(
  { url, hashes: { sha256 } }: Locked["wheels"][number],
  name: string,
  cache: string,
  progress: (doing: string) => void,
): Promise<string> {
  const folder = join(cache, "wheels", sha256);
  return shared(folder, async () => {
    if (await stat(folder).catch(() => undefined)) return folder;
    progress(`fetching ${name}`);
    const files = unzipSync(await wheelBytes({ url, sha256 }, name, cache), {
      filter: ({ name: path, originalSize }) =>
        !path.endsWith("/") && originalSize <= limits.sourceBytes,
    });
    const compiled = Object.keys(files).find((path) => /\.(so|pyd|dylib|dll)$/.test(path));
    if (compiled !== undefined)
      throw new Refusal(`${name} is not in plain Python, as it has ${compiled}`);
    const unfinished = `${folder}.${process.pid}`;
    for (const [path, bytes] of Object.entries(files)) {
      const file = join(unfinished, path);
      if (!file.startsWith(`${unfinished}/`))
        throw new Refusal(`${name}: it has a file outside of its folder`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, bytes);
    }
    await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }));
    return folder;
  });
}
