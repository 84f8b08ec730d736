import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** `npm run standalone`, where it writes nothing. */

const standalone = (...args: string[]) =>
  promisify(execFile)(process.execPath, ["src/tools/host/standalone.ts", ...args]);

test("a folder with anything else is left alone, such as the project itself", async () => {
  const folder = await mkdtemp(join(tmpdir(), "standalone-"));
  await writeFile(join(folder, "package.json"), '{ "name": "mine" }');
  await expect(standalone(folder)).rejects.toMatchObject({
    code: 1,
    stderr: `${folder} is not empty: it has package.json. Name a new folder, or remove this one.\n`,
  });
  expect(await readdir(folder)).toEqual(["package.json"]);
  expect(await readFile(join(folder, "package.json"), "utf8")).toBe('{ "name": "mine" }');
});

test.each([
  [[], /^Give a folder\./],
  [["a", "b"], /^Unexpected argument: b\./],
  [["--wrong"], /^Unknown option '--wrong'/],
])("%j is refused in words", async (args, stderr) => {
  await expect(standalone(...args)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(stderr),
  });
});

test.each(["start", "backup"])("%s is made without the build tools", async (name) => {
  const { metafile } = await build({
    entryPoints: [`src/tools/host/${name}.ts`],
    outdir: "out",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    external: ["esbuild", "workerd"],
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const packages = Object.keys(metafile.inputs).flatMap((path) => {
    const [, named = []] = path.split("node_modules/").map((one) => one.split("/")[0] ?? "");
    return named;
  });
  expect(["smol-toml", "zod"]).toEqual(expect.arrayContaining(packages));
});
