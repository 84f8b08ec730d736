import { parseMounts } from "../../files/mounts.ts";

/**
 * hyper-mcp's `allowed_paths` as those of `servlet.json`. There a host is a folder of the machine, here it names
 * a store that begins empty. `unmapped` has the reasons.
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

const WINDOWS = "a path of Windows cannot be mapped: write HOST:PLUGIN, with / in both";
const EMPTY =
  "the folders begin empty, and no other servlet sees them: files to begin with belong into a folder beside servlet.json (docs/state.md)";

/** undefined for a path of Windows. */
function mappedPath(text: string): string | undefined {
  if (/^([A-Za-z]:[\\/]|\\\\)/.test(text)) return undefined;
  const [, first = "", second = ""] = /^([^:]*):?([^]*)$/.exec(text) ?? [];
  const plugin = second.trim() || first.trim();
  // `ro:` means read-only here, and a host named ro there.
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
