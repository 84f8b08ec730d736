/** Follows the steps of a page that begins in an empty folder and makes a project there. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "../docs/pages.ts";
import { expectedOf, place, runShell } from "../docs/shell.ts";
import { freePort } from "../workerd.ts";

/** Packages that are unpacked already: nothing is fetched. */
interface Packages {
  /** The file that makes a project. */
  create: string;
  /** A `node_modules` with the server, Python and the packages that they need. */
  modules: string;
}

/** `npm` without its registry. */
const npm = ({ create, modules }: Packages, port: string) => `#!/usr/bin/env bash
command="node_modules/edge-servlets/bin/edge-servlets.js"
case "$1 $2" in
  "create edge-servlets") exec node ${create} "$3" ;;
  "install ") ln -s ${modules} node_modules ;;
  "install -D") [ -d "node_modules/$3" ] ;;
  "run servlets") shift 3; exec node $command "$@" ;;
  "run dev") exec node $command start --port ${port} ;;
  *) echo "steps: unknown: npm $*" >&2; exit 1 ;;
esac
`;

/** Waits until the server in the background serves, and ends it with the script. */
const serves = (port: string) => `trap 'kill $(jobs -p)' EXIT
serves() {
  until curl -sf http://localhost:${port}/health > /dev/null; do
    kill -0 $! || { cat dev.log; exit 1; }
    sleep 0.1
  done
}
`;

/** The first text that the steps of a page should have printed and did not, with what they printed instead. */
export async function missingInSteps(
  folder: string,
  { blocks }: Page,
  packages: Packages,
  replaced: Record<string, string>,
): Promise<string[]> {
  const port = String(await freePort());
  await mkdir(join(folder, "bin"), { recursive: true });
  await writeFile(join(folder, "bin/npm"), npm(packages, port), { mode: 0o755 });
  const here = (text: string) =>
    Object.entries({ ...replaced, "localhost:8787": `localhost:${port}` }).reduce(
      (one, [from, to]) => one.replaceAll(from, to),
      text,
    );
  for (const block of blocks.filter(({ language }) => language !== "sh"))
    await place(folder, { ...block, text: here(block.text) });
  const lines = here(blocks.flatMap((one) => (one.language === "sh" ? one.text : [])).join("\n"));
  const script = lines.replace(/^npm run dev$/m, "$& > dev.log 2>&1 &\nserves");
  const printed = await runShell(folder, serves(port) + script, {});
  let from = 0;
  for (const text of expectedOf(script)) {
    const found = printed.indexOf(text, from);
    if (found < 0) return [text, printed.slice(from)];
    from = found + text.length;
  }
  return [];
}
