/** Checks the types of servlets with the same settings as an editor: `src/sdk/servlets.tsconfig.json`. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { digestOf, readIfThere, sha256, writeWhole } from "../cache.ts";
import { Refusal } from "../refusal.ts";
import { instead } from "./messages.ts";
import { sdk } from "./script.ts";

const run = promisify(execFile);
const tsc = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
);

/**
 * Checks the types of several servlets in one run of the compiler. Skips the check if none of the files that it read last
 * time has changed.
 *
 * Throws a `Refusal` with the compiler's messages.
 */
export async function checkTypes(
  entries: readonly string[],
  cache: string,
  progress: (doing: string) => void,
): Promise<void> {
  if (entries.length === 0) return;
  const settings = JSON.stringify({
    extends: join(sdk, "servlets.tsconfig.json"),
    files: [join(sdk, "ambient.d.ts"), ...entries.map((entry) => resolve(entry))],
  });
  const name = sha256(settings).slice(0, 32);
  const note = join(cache, `${name}.types.json`);
  const known = await readIfThere(note);
  if (known !== undefined) {
    const { files, digest } = JSON.parse(new TextDecoder().decode(known));
    if ((await digestOf(files)) === digest) return;
  }
  progress(`checking the types of ${entries.join(", ")}`);
  await mkdir(cache, { recursive: true });
  // A unique name, because another check may be running.
  const config = join(cache, `tsconfig.${name}.json`);
  await writeFile(config, settings);
  const { stdout } = await run(
    process.execPath,
    [tsc, "-p", config, "--pretty", "false", "--listFiles"],
    { maxBuffer: 1 << 26 },
  ).catch((error: unknown) => {
    if (!(error instanceof Error) || !("stdout" in error)) throw error;
    throw new Refusal(
      `The servlet's types are not right. Correct these errors:\n${messagesIn(String(error.stdout))}`,
    );
  });
  const files = stdout.split("\n").filter((line) => line !== "");
  await writeWhole(note, JSON.stringify({ files, digest: await digestOf(files) }));
}

/** The compiler's messages, without the list of files that follows them, and with advice for servlets. */
function messagesIn(output: string): string {
  const messages = output
    .replace(/^(?:\/|[A-Za-z]:[\\/])[^\n(]*\.[cm]?[jt]sx?$\n?/gm, "")
    .replace(
      /(Cannot find name '(?:node:)?([\w/]+)')\. Do you need[^\n]*/g,
      (_, found: string, name: string) => `${found}. ${instead(name)}`,
    )
    .trim();
  const returnsNothing = /'(void|undefined)' is not assignable to type '[^\n]*\bToolOutput\b/;
  return returnsNothing.test(messages)
    ? `${messages}\nThe handler of a tool must return something: null, if there is nothing to say.`
    : messages;
}
