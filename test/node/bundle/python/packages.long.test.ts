import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { packagesOf } from "../../../../src/languages/python/packages.ts";
import { requirementOf } from "../../../../src/languages/python/requirements.ts";
import { limits } from "../../../../src/tools/bundle/limits.ts";
import { PackageIndex } from "./package-index.ts";

let index: PackageIndex;
let folder: string;
beforeEach(async () => {
  index = new PackageIndex();
  await index.start();
  vi.stubEnv("PIP_INDEX_URL", index.url);
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(join(".bundle", "test-packages-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await index.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The modules that a servlet with these requirements gets, by their names, with what they have in them. */
async function modules(...lines: string[]): Promise<Record<string, string>> {
  await writeFile(join(folder, "requirements.txt"), lines.join("\n"));
  const found: Record<string, string> = {};
  for (const root of await packagesOf(folder, join(folder, "cache"), () => {}))
    for (const name of (await readdir(root)).filter((one) => one.endsWith(".py")))
      found[name.replace(".py", "")] = await readFile(join(root, name), "utf8");
  return found;
}

const versions = async (...lines: string[]) =>
  Object.fromEntries(
    Object.entries(await modules(...lines)).map(([name, text]) => [name, /"(.*)"/.exec(text)?.[1]]),
  );
const lock = () => readFile(join(folder, "pylock.toml"), "utf8");
const refusal = (...lines: string[]) =>
  modules(...lines).then(
    () => "nothing refused",
    (error: Error) => error.message,
  );

describe("chooses", () => {
  test.each([
    ["a", "10.0"],
    ["a==1.0", "1.0"],
    ["A  >= 1, < 2  # a remark", "1.9"],
    ["a~=1.0", "1.9"],
    ["a!=10.0", "1.9"],
    ["a (<2)", "1.9"],
    ["a==11.0rc1", "11.0rc1"],
    ["a == \\\n 1.0", "1.0"],
    ["\uFEFFa==1.0\r", "1.0"],
  ])("%j: %s", async (line, version) => {
    for (const one of ["1.0", "1.9", "10.0", "11.0rc1"]) index.add("a", one);
    index.add("a", "12.0", { yanked: "broken" });
    index.add("a", "13.0", { python: ">=3.15" });
    index.add("a", "14.0", { tag: "py2-none-any" });
    index.add("a", "nonsense");
    index.addSources("a", "15.0");
    expect(await versions(line)).toEqual({ a: version });
  });

  test("what packages require, with the extras and markers that are true in a servlet", async () => {
    index.add("a", "1", {
      requires: [
        "b>=1",
        "Old-Name",
        "windows; sys_platform == 'win32'",
        'wasi; (sys_platform == "wasi" or os_name == "nt") and python_version >= "3.14"',
        "dated; python_version < '3.10'",
        "toml; extra == 'toml' and python_version > '3'",
        "legacy>=2.7.*; platform_release == '' or platform_version != '1'",
      ],
    });
    for (const name of ["old-name", "wasi", "toml", "legacy"]) index.add(name, "3");
    index.add("b", "2", { requires: ["a", "c<2,"] });
    index.add("c", "1");
    index.add("c", "2");
    const plain = { a: "1", b: "2", c: "1", old_name: "3", wasi: "3", legacy: "3" };
    expect(await versions("a", "none; sys_platform == 'win32'")).toEqual(plain);
    expect(await versions("a[toml]")).toEqual({ ...plain, toml: "3" });
  });

  test("a package that is required very often", async () => {
    index.add("a", "1.0", { requires: Array.from({ length: 20_000 }, () => "a>=0") });
    expect(await versions("a")).toEqual({ a: "1.0" });
  });

  test("a marker with very many brackets, which counts as true", async () => {
    index.add("a", "1.0", { requires: [`b; ${"(".repeat(100_000)}`] });
    index.add("b", "1");
    expect(await versions("a")).toEqual({ a: "1.0", b: "1" });
  });

  test("another version where a package requires that later", async () => {
    for (const version of ["1", "2"]) index.add("a", version);
    index.add("b", "1", { requires: ["a<2"] });
    expect(await versions("a", "b")).toEqual({ a: "1", b: "1" });
    expect(await refusal("a>=2", "b")).toMatch(
      /requirements\.txt:1: no wheel of a .* fits >=2 \(.*requirements\.txt:1\) and <2 \(b 1\)$/,
    );
  });

  test("wheels with the digests that a line names", async () => {
    const sha256 = index.add("a", "1");
    index.add("a", "2");
    expect(
      await versions(`a --hash=sha256:${sha256} \\`, `--hash=sha256:${"0".repeat(64)}`),
    ).toEqual({
      a: "1",
    });
    expect(await refusal(`a --hash=sha256:${"0".repeat(64)}`)).toContain("no wheel of a");
  });
});

describe("the lock file", () => {
  test("stays, and is used without the index", async () => {
    index.add("a", "1", { requires: ["b"] });
    index.add("b", "1");
    await modules("a");
    const written = await lock();
    for (const name of ["a", "b"]) index.add(name, "2");
    await rm(join(folder, "cache"), { recursive: true });
    index.requests.length = 0;
    expect(await versions("", "a # the same")).toEqual({ a: "1", b: "1" });
    expect(await lock()).toBe(written);
    expect(index.requests.toSorted()).toEqual([
      "/files/a-1-py3-none-any.whl",
      "/files/b-1-py3-none-any.whl",
    ]);
    await index.stop();
    expect(await versions("a")).toEqual({ a: "1", b: "1" });
  });

  test("keeps the versions that still fit", async () => {
    index.add("a", "1");
    await modules("a");
    index.add("a", "2");
    index.add("b", "1");
    expect(await versions("a", "b")).toEqual({ a: "1", b: "1" });
    expect(await versions("a>1", "b")).toEqual({ a: "2", b: "1" });
  });

  test("has wheels refused that have another digest", async () => {
    index.add("a", "1");
    await modules("a");
    await rm(join(folder, "cache"), { recursive: true });
    index.faults.set("/files/a-1-py3-none-any.whl", new Uint8Array([1]));
    expect(await refusal("a")).toMatch(
      /^a 1: http.*\.whl has the digest 4bf5.*, not [0-9a-f]{64}$/,
    );
  });

  test.each([
    ["of another tool", '"edge-servlets"', '"uv"'],
    ["with a path for a digest", /sha256 = "\w+"/, 'sha256 = "../../x"'],
    ["with nonsense for a URL", /url = "[^"]*"/, 'url = "nonsense"'],
    ["that is cut off", /hashes[^]*/, "hashes"],
  ])("is refused and kept %s", async (_, from, to) => {
    index.add("a", "1");
    await modules("a");
    const other = (await lock()).replace(from, to);
    await writeFile(join(folder, "pylock.toml"), other);
    expect(await refusal("a")).toMatch(/pylock\.toml: it is no lock file .*: remove it/);
    expect(await lock()).toBe(other);
  });
});

test("a private index gets its login, which stands nowhere", async () => {
  index.login = "ada:s3cret/Pa55";
  index.add("a", "1", { requires: ["b"] });
  expect(await refusal("a")).toMatch(/127\.0\.0\.1.*401.*credentials/);
  vi.stubEnv("PIP_INDEX_URL", index.url.replace("//", "//ada:s3cret%2FPa55@"));
  const lacking = await refusal("a");
  expect(lacking).toMatch(/^a 1: there is no package b at http:\/\/127/);
  index.add("b", "1");
  expect(await versions("a")).toEqual({ a: "1", b: "1" });
  expect(`${await lock()}${lacking}`).not.toMatch(/s3cret|ada/);
});

describe("refuses", () => {
  test.each([
    "a b",
    "-r more.txt",
    "--index-url https://example.com",
    "-e .",
    "a @ https://example.com/a-1.whl",
    "./a-1.whl",
    "a=1",
    "a==1 b==2",
    "💥",
  ])("the line %j", async (line) => {
    expect(await refusal("# remark", line)).toBe(
      `${folder}/requirements.txt:2: write a package and its version, such as jinja2==3.1.6, not ${line}`,
    );
  });

  test("packages that are of no use without sockets, where they are named", async () => {
    index.add("aiohttp", "1");
    index.add("client", "1", { requires: ["aiohttp"] });
    expect(await refusal("aiohttp")).toMatch(/:1: there is no aiohttp in a servlet.*import fetch$/);
    expect(await versions("client")).toEqual({ client: "1", aiohttp: "1" });
  });

  test("no packages that the library of servlets has by itself", async () => {
    index.add("caller", "1", { requires: ["httpx>=0.27", "requests"] });
    expect(await versions("caller\nHTTPX2==1\nmcp[cli]>=1.2")).toEqual({ caller: "1" });
  });

  test.each([
    ["numpy", /^.*:1: there is no numpy in a servlet, as it is compiled .*: use lists/],
    ["rare", /^.*:1: there is no rare in a servlet, as it is compiled for a computer: take one/],
  ])("%s, of which there are compiled wheels only", async (name, told) => {
    index.add(name, "1", { tag: "cp314-cp314-manylinux_2_28_x86_64" });
    expect(await refusal(name)).toMatch(told);
  });

  test("a package with compiled parts in a wheel for all computers", async () => {
    index.add("a", "1", { files: { "a/_fast.so": "" } });
    expect(await refusal("a")).toBe("a 1: it is not in plain Python, as it has a/_fast.so");
  });

  test("a package that has sources only, and one that is not there", async () => {
    index.addSources("a", "1");
    expect(await refusal("a")).toMatch(
      /:1: no wheel of a in plain Python for Python 3\.14 fits any version \(/,
    );
    expect(await refusal("b")).toMatch(/:1: there is no package b at http:\/\/127\.0\.0\.1:\d+$/);
  });

  test.each(["../evil.py", "/evil.py", "a/../../evil.py", "a\\..\\evil.py", "C:/evil.py"])(
    "a wheel with the file %j",
    async (path) => {
      index.add("a", "1", { files: { "a.py": "", [path]: "" } });
      expect(await refusal("a")).toBe(`a 1: it has a file outside of its folder, ${path}`);
      expect(
        (await readdir(join(folder, "cache/wheels"))).filter((one) => !one.endsWith(".whl")),
      ).toEqual([]);
    },
  );

  test("a wheel that is no archive, or that is too large unpacked", async () => {
    index.add("a", "1");
    await modules("a");
    await mkdir(join(folder, "vendor"));
    const path = join(folder, "vendor/b.whl");
    await writeFile(path, "nothing");
    expect(await refusal()).toBe(`${path}: it is no wheel, as it cannot be unpacked`);
    await writeFile(path, zipSync({ "b.py": new Uint8Array(limits.sourceBytes + 1) }));
    expect(await refusal()).toMatch(/unpacked it is larger than \d+ bytes/);
  });

  // A requirement of a package is a line that anybody may have written.
  test.each([`a${"!1".repeat(100)}`, `a${"<1  ".repeat(100)}@`, `a${" ".repeat(100_000)}@`])(
    "lines that could be read in very many ways",
    (line) => {
      expect(requirementOf(line, "b 1.0")).toBeUndefined();
    },
  );

  test("more than a hundred packages", async () => {
    for (let nth = 0; nth <= 100; nth++) index.add(`p${nth}`, "1", { requires: [`p${nth + 1}`] });
    expect(await refusal("p0")).toBe("p99 1: it needs more than 100 packages: use fewer");
  });

  test("a package whose extras need each other without end", async () => {
    const requires = Array.from(
      { length: 5_000 },
      (_, nth) => `a[e${nth + 1}]; extra == 'e${nth}'`,
    );
    index.add("a", "1", { requires });
    expect(await refusal("a[e0]")).toBe("a 1: more than 100 extras of a are needed: use fewer");
  });

  test("a package that requires too many", async () => {
    index.add("a", "1", { requires: Array.from({ length: 20_001 }, () => "a") });
    expect(await refusal("a")).toBe("a 1: it requires more than 20000 packages");
  });

  test.each([
    ["a name that is too long", ["b".repeat(300)]],
    ["a folder where a file is", ["b", "b/c"]],
    ["a name with a null", ["b\0c"]],
  ])("a wheel with %s", async (_what, paths) => {
    index.add("a", "1", { files: Object.fromEntries(paths.map((path) => [path, ""])) });
    expect(await refusal("a")).toMatch(/^a 1: its file b.* cannot be written \([A-Z_]+\)$/);
    expect(await readdir(join(folder, "cache/wheels"))).toHaveLength(1);
  });

  test("a wheel whose files are the same bytes of it", async () => {
    const wheel = Buffer.from(zipSync({ "a.py": randomBytes(10_000), "b.py": new Uint8Array() }));
    // The second entry of the central directory becomes the first, but for its name.
    const [first, second] = ["a.py", "b.py"].map((name) => wheel.lastIndexOf(name) - 46);
    wheel.copy(wheel, second, first, first! + 46);
    await mkdir(join(folder, "vendor"));
    const path = join(folder, "vendor/b.whl");
    await writeFile(path, wheel);
    expect(await refusal()).toBe(`${path}: it is no wheel, as it cannot be unpacked`);
  });

  test("a wheel with very many files", async () => {
    const files = Object.fromEntries(Array.from({ length: 20_001 }, (_, nth) => [`${nth}`, ""]));
    index.add("a", "1", { files });
    expect(await refusal("a")).toMatch(/^a 1: unpacked it is larger than .* or 20000 files/);
  });

  test("what is no index", async () => {
    index.faults.set("/simple/a/", new TextEncoder().encode("<html>"));
    expect(await refusal("a")).toMatch(/^http.*does not answer as an index in JSON/);
    vi.stubEnv("PIP_INDEX_URL", "nonsense");
    expect(await refusal("a")).toBe("PIP_INDEX_URL is no URL of a package index");
  });
});

test("what lies in vendor/ comes first, as modules and as wheels", async () => {
  index.add("a", "1");
  await mkdir(join(folder, "vendor"));
  await writeFile(join(folder, "vendor/b.py"), '"here"');
  const wheel = zipSync({ "c.py": new TextEncoder().encode('"packed"') });
  await writeFile(join(folder, "vendor/c-1-py3-none-any.whl"), wheel);
  expect(await versions("a")).toEqual({ b: "here", c: "packed", a: "1" });
});

test("packages that are compiled in part are taken without it", async () => {
  index.add("markupsafe", "1", {
    tag: "cp314-cp314-manylinux_2_28_x86_64",
    files: { "markupsafe.py": '"plain"', "_fast.so": "" },
  });
  expect(await versions("markupsafe")).toEqual({ markupsafe: "plain" });
});
