import type { Manifest } from "./manifest.ts";

/** A servlet's name and manifest, which determine its toolkit and version. */
interface Versioned {
  name: string;
  manifest: Manifest;
}

const DEFAULT_VERSION = "1.0.0";

/** The toolkit's name: from the manifest, else the servlet's name. */
export const toolkitOf = ({ name, manifest }: Versioned): string => manifest.toolkit ?? name;

export const versionOf = ({ manifest }: Versioned): string => manifest.version ?? DEFAULT_VERSION;

/** A name reduced to the characters allowed in ids. */
export const folded = (name: string): string => name.replace(/[^A-Za-z0-9_]+/g, "_") || "_";

/** Compares versions `x.y.z`, the oldest first. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  const at = left!.findIndex((number, index) => number !== right![index]);
  return at < 0 ? 0 : left![at]! - right![at]!;
}

/** The servlets with the newest version of their toolkit, for clients without versions. */
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
