import type { Manifest } from "./manifest.ts";

/** The toolkit and version of a servlet, for callers who name tools by them. */
interface Versioned {
  name: string;
  manifest: Manifest;
}

const DEFAULT_VERSION = "1.0.0";

/** The toolkit's name as it was given: the manifest's, or the servlet's own. */
export const toolkitOf = ({ name, manifest }: Versioned): string => manifest.toolkit ?? name;

export const versionOf = ({ manifest }: Versioned): string => manifest.version ?? DEFAULT_VERSION;

/** A name in the characters that ids may have. */
export const folded = (name: string): string => name.replace(/[^A-Za-z0-9_]+/g, "_") || "_";

/** For sorting versions `x.y.z`, the oldest first. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  const at = left!.findIndex((number, index) => number !== right![index]);
  return at < 0 ? 0 : left![at]! - right![at]!;
}

/** The servlets with the newest version of their toolkit, which clients see that know no versions. */
export function newest<T extends Versioned>(servlets: readonly T[]): T[] {
  const versions = new Map<string, string>();
  for (const servlet of servlets) {
    const [toolkit, version] = [toolkitOf(servlet), versionOf(servlet)];
    if (compareVersions(version, versions.get(toolkit) ?? "0.0.0") >= 0) {
      versions.set(toolkit, version);
    }
  }
  return servlets.filter((one) => versions.get(toolkitOf(one)) === versionOf(one));
}
