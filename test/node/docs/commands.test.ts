import { glob, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keyCommand } from "../../../src/tools/commands/keys.ts";
import { Refusal } from "../../../src/tools/bundle/refusal.ts";
import { captured, servlets } from "../bundle/commands/running.ts";
import { allPages, readPage } from "./pages.ts";

/** Commands that documents show are ones that the real commands take, as far as their arguments go. */
vi.mock("../../../src/tools/bundle/sources/http.ts", async (original) => ({
  ...(await original<object>()),
  requestSource: () => Promise.reject(new Refusal("This test has no network.")),
}));

const PACKED = await Array.fromAsync(glob("package/{.,template,starters/*}/README.md"));
const pages = [...(await allPages()), ...(await Promise.all(PACKED.map(readPage)))];
const LINE = /^npm run (servlets|keys) -- (.*?)(?: +#.*)?$/;

/** The arguments that a shell makes of a line without variables. */
const argumentsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);

const commands = pages.flatMap(({ blocks }) =>
  blocks
    .filter(({ language }) => language === "sh")
    .flatMap(({ text }) => text.replaceAll(/\\\n */g, "").split("\n"))
    .flatMap((line) => {
      const [, script, rest] = LINE.exec(line) ?? [];
      return script === undefined ? [] : [{ script, rest: rest! }];
    }),
);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "commands-"));
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("This test has no network.")));
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await rm(folder, { recursive: true, force: true });
});

test("are found", () => {
  expect(commands.length).toBeGreaterThan(30);
  expect(commands.map(({ rest }) => rest)).toContain("add oci://… --name weather");
});

// A folder without servlets, and no network: a command whose arguments are right ends soon, by another refusal at most.
test.each(commands)("npm run $script -- $rest", async ({ script, rest }) => {
  const args = argumentsOf(rest);
  const { stderr } =
    script === "keys"
      ? await captured(async () => void (await keyCommand(args, folder)))
      : await servlets(args, { SERVLETS: folder });
  // The usage of the command.
  expect(stderr).not.toMatch(/^npm run \w+ -- /m);
});
