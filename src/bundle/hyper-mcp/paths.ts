import { parseMounts } from "../../files/mounts.ts";
import { DOCS } from "../own.ts";

/**
 * Converts hyper-mcp's `allowed_paths` to those of `servlet.json`. In hyper-mcp a host is a folder of the machine; here it
 * is the name of a store that begins empty. `unmapped` has a line with the reason for each path that was left out.
 */
export function mappedPaths(given: readonly string[]): { paths: string[]; unmapped: string[] } {
  const paths: string[] = [];
  const unmapped: string[] = [];
  for (const text of given) {
    const path = mappedPath(text.trim());
    const problem = path === undefined ? WINDOWS : problemOf([...paths, path]);
    if (problem === undefined) paths.push(path!);
    else unmapped.push(`allowed_paths: ${text.trim()}: ${problem}`);
  }
  if (paths.length > 0) unmapped.push(`allowed_paths: ${EMPTY}`);
  return { paths, unmapped };
}

const WINDOWS = "a Windows path cannot be mapped: write HOST:PLUGIN, with / in both";
const EMPTY = `the folders begin empty, and no other servlet sees them: put initial files into a folder beside servlet.json (${DOCS}/state.md)`;

/** A path in the form `HOST:PLUGIN`; undefined for a Windows path. */
function mappedPath(text: string): string | undefined {
  if (/^([A-Za-z]:[\\/]|\\\\)/.test(text)) return undefined;
  const [, first = "", second = ""] = /^([^:]*):?([^]*)$/.exec(text) ?? [];
  const plugin = second.trim() || first.trim();
  // `ro:` means read-only here, but a host named ro in hyper-mcp.
  const host = first.trim() === "ro" ? "./ro" : first.trim();
  return host === plugin ? host : `${host}:${plugin}`;
}

function problemOf(paths: readonly string[]): string | undefined {
  try {
    parseMounts(paths);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^allowed_paths: /, "");
  }
}
