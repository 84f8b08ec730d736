/** What is published that python.bin is made of: newer versions, and their advisories. */
import { gunzipSync } from "node:zlib";
import { limits } from "../../../src/tools/bundle/limits.ts";
import { requestSource } from "../../../src/tools/bundle/sources/http.ts";
import { DEBIAN, debFiles, unxz, VERSIONS } from "./inputs.ts";

/** Debian's packages that have the change logs of the library and of Expat. */
const LIBRARY = "libpython3.14-minimal";
const EXPAT = "libexpat1";

async function fetched(url: string): Promise<Uint8Array> {
  const { status, body } = await requestSource(new URL(url), { maxBytes: limits.sourceBytes });
  if (status !== 200) throw new Error(`${url}: ${status}`);
  return body;
}

/** A package of Debian with the greatest version in an index of packages: https://wiki.debian.org/DebianRepository/Format */
export function newestIn(index: string, name: string): { version: string; path: string } {
  const field = (entry: string, key: string) => new RegExp(`^${key}: (.*)$`, "m").exec(entry)?.[1];
  const found = index
    .split("\n\n")
    .filter((entry) => field(entry, "Package") === name)
    .map((entry) => ({ version: field(entry, "Version")!, path: field(entry, "Filename")! }))
    .toSorted((a, b) => a.version.localeCompare(b.version, "en", { numeric: true }))
    .at(-1);
  if (found === undefined) throw new Error(`Debian's index has no ${name}`);
  return { ...found, version: found.version.replace(/-[^-]*$/, "") };
}

/** The advisories that a change log names, of the year in which 3.14.0 was released and later. */
export const advisoriesIn = (log: string): string[] =>
  [...new Set(log.match(/CVE-20(2[5-9]|[3-9]\d)-\d+/g))].toSorted((a, b) =>
    a.localeCompare(b, "en", { numeric: true }),
  );

/** The change log of a package, as far as it is newer than a version. */
async function newerLog(path: string, version: string): Promise<string> {
  const files = [...debFiles(await fetched(`${DEBIAN}/${path}`))];
  const logs = files.filter(([name]) => /\/changelog(\.Debian)?\.gz$/.test(name));
  return logs
    .map(([, bytes]) => new TextDecoder().decode(gunzipSync(bytes)))
    .map((text) =>
      text.slice(
        0,
        new RegExp(`^(\\S+ \\(|Release )${RegExp.escape(version)}\\b`, "m").exec(text)?.index,
      ),
    )
    .join("\n");
}

/** What is newer in Debian and on PyPI than what python.bin is made of, and the advisories that a document does not name. */
export async function newerThanOurs(document: string): Promise<string[]> {
  const [index, pypi] = await Promise.all([
    fetched(`${DEBIAN}/dists/sid/main/binary-amd64/Packages.xz`),
    fetched("https://pypi.org/pypi/componentize-py/json"),
  ]);
  const packages = new TextDecoder().decode(unxz(index));
  const [library, expat] = [newestIn(packages, LIBRARY), newestIn(packages, EXPAT)];
  const { info } = JSON.parse(new TextDecoder().decode(pypi)) as { info: { version: string } };
  const logs = await Promise.all([
    newerLog(library.path, VERSIONS.interpreter),
    newerLog(expat.path, VERSIONS.expat),
  ]);
  const versions = [
    ["library", VERSIONS.library, library.version],
    ["expat", VERSIONS.expat, expat.version],
    ["componentize-py", VERSIONS.componentize, info.version],
  ] as const;
  const known = new Set(advisoriesIn(document));
  return [
    ...versions.flatMap(([name, ours, newest]) =>
      ours === newest ? [] : [`${name}  ${ours} → ${newest}`],
    ),
    ...advisoriesIn(logs.join("\n"))
      .filter((advisory) => !known.has(advisory))
      .map((advisory) => `${advisory} is not in docs/python.md`),
  ];
}
