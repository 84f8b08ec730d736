import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { makeServlet } from "./languages.ts";
import { copyOfProject } from "./shell.ts";

/** Makes a servlet in each language that the bundle step compiles, as its page says, and runs its test. */
const folder = await copyOfProject(join(inject("worker"), "docs/languages"));

describe.each(["C", "AssemblyScript", "Python"])("%s", async (heading) => {
  const { servlet, build } = await makeServlet(heading, folder);

  test("needs no build of its own", () => {
    expect(build).toEqual([]);
  });

  await import(join(servlet, "servlet.test.ts"));
});
