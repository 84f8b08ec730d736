import { beforeAll, expect, test } from "vitest";
import { LANGUAGES } from "../../../../../src/languages/index.ts";
import { makeBundle } from "../../../../../src/tools/bundle/bundle.ts";
import { checkTypes } from "../../../../../src/languages/typescript/types.ts";
import { loadServlet } from "../../../../../src/tools/testing/index.ts";
import { ANSWER, type Used } from "./corpus.ts";
import { installPackages, usedInNode, useOf, writeServlet } from "./installed.ts";

/** Tests these packages from npm in servlets: they give there what they give in Node, or fail as docs/packages.md says. */
export const testPackages = (corpus: readonly Used[]): void => {
  let folder: string | undefined;
  let inNode: Record<string, unknown>;

  beforeAll(async () => {
    folder = await installPackages();
    if (folder === undefined) return;
    for (const used of corpus) await writeServlet(folder, used);
    inNode = await usedInNode(folder, corpus);
  }, 600_000);

  const answer = ({ url }: Request) =>
    /\/missing(\?|$)/.test(url) ? new Response("", { status: 404 }) : Response.json(ANSWER);

  test("their types fit servlets (needs the registry of npm)", async ({ skip }) => {
    const found = folder ?? skip("it cannot be reached");
    const uses = corpus.map((used) => useOf(found, used));
    await expect(checkTypes(uses, ".bundle", () => {})).resolves.toBeUndefined();
  });

  const [working, failing] = [true, false].map((works) =>
    corpus.filter(({ fails }) => (fails === undefined) === works),
  ) as [Used[], Used[]];

  /** The result of a servlet that uses a package, or its error. */
  const outcomeIn = (path: string) =>
    loadServlet(path)
      .then((servlet) => servlet.callTool("use", {}, { fetch: answer }))
      .then(
        ({ result }) =>
          result.isError ? JSON.stringify(result.content) : result.structuredContent,
        String,
      );

  test.for(working)(
    "$name works (needs the registry of npm)",
    { timeout: 120_000 },
    async (used, { skip }) => {
      const path = await writeServlet(folder ?? skip("it cannot be reached"), used);
      const { kb = 0, gives = inNode[used.name] } = used;
      expect(await outcomeIn(path)).toEqual({ made: gives });
      const options = { languages: LANGUAGES, cache: ".bundle", progress: () => {} };
      const [member] = await makeBundle({ ...options, folders: [path] });
      expect(member!.size.gzip / 1000).toBeGreaterThan(kb * 0.9 - 1);
      expect(member!.size.gzip / 1000).toBeLessThan(kb * 1.1 + 1);
    },
  );

  test.for(failing)(
    "$name does not, and says why (needs the registry of npm)",
    { timeout: 120_000 },
    async (used, { skip }) => {
      const path = await writeServlet(folder ?? skip("it cannot be reached"), used);
      expect(await outcomeIn(path)).toMatch(used.fails!.error);
    },
  );
};
