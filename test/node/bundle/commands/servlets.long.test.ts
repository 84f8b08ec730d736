import {
  access,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { examine, locate } from "../../../../src/tools/commands/examine.ts";
import { newServlet } from "../../../../src/tools/commands/new.ts";
import { modelReport, servletReport } from "../../../../src/tools/commands/report.ts";
import { assemble } from "../../../../src/tools/bundle/wasm/binaryen.ts";
import { run, servlets as runServlets, servletsProcess } from "./running.ts";

/** The command `npm run servlets`. */
const bin = (name: string) => join("node_modules", ".bin", name);

let folder: string;
beforeEach(async () => {
  // Inside of the project, so that what is made finds its packages.
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(join(".bundle", "test-servlets-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Examines in this process, without the optimiser. */
const QUICKLY = { languages: LANGUAGES, cache: ".bundle", progress: () => {}, optimise: false };

const inFolders = (folders: string[]) => ({ SERVLETS: folders.join(delimiter) });
const servlets = (args: string[], folders = [folder]) => runServlets(args, inFolders(folders));

async function refused(args: string[], folders?: string[]): Promise<string> {
  const { code, stdout, stderr } = await servlets(args, folders);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).not.toMatch(/^\s+at /m);
  return stderr;
}

async function put(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

/** The files of a folder that the project's formatter would change. */
async function unformatted(of: string): Promise<string[]> {
  const elsewhere = await mkdtemp(join(tmpdir(), "test-servlets-"));
  await cp(of, elsewhere, { recursive: true });
  const { stdout } = await run(bin("oxfmt"), [
    "-c",
    ".oxfmtrc.json",
    "--list-different",
    elsewhere,
  ]);
  await rm(elsewhere, { recursive: true });
  return stdout.split("\n").filter(Boolean);
}

describe("without a command it knows", () => {
  test.each([[[]], [["--help"]]])("%j shows what there is", async (args) => {
    const { code, stdout } = await servlets(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/new NAME.*list.*inspect SERVLET/s);
  });

  test("as a process, it ends and writes as it does here", async () => {
    for (const args of [["new", "mine", "--lang", "c"], ["bogus"]]) {
      const ended = await servletsProcess(args, inFolders([folder]));
      await rm(join(folder, "mine"), { recursive: true, force: true });
      expect(ended).toEqual(await servlets(args));
    }
  });

  test.each([
    [["bogus"], /^There is no command bogus\. For all commands: npm run servlets\n$/],
    [["isntall", "a"], /^There is no command isntall\. Did you mean install\? For/],
    [["new"], /Give the servlet's name(?!.*installed)/s],
    [["new", "a", "--lnag", "c"], /--lnag(?!.*installed)/s],
    [["new", "My_notes"], /"My_notes" cannot be a servlet's name/],
    [["new", "profile"], /"profile" is the server's own/],
  ])("%j is refused", async (args, message) => {
    expect(await refused(args)).toMatch(message);
  });
});

describe("new", () => {
  test("makes a servlet that is listed and inspected", async () => {
    const inner = join(folder, "mine");
    const longest = "a-name-of-thirty-two-characters-";
    const made = await servlets(["new", longest], [inner, folder]);
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.stdout).toContain(`${join(inner, longest)} is made`);
    expect(made.stdout).toMatch(/npm run dev.*npm test/s);
    const files = await readdir(join(inner, longest));
    expect(files.toSorted()).toEqual(["servlet.json", "servlet.test.ts", "servlet.ts"]);
    expect(await unformatted(join(inner, longest))).toEqual([]);
    const manifest = JSON.parse(await readFile(join(inner, longest, "servlet.json"), "utf8"));
    await access(resolve(inner, longest, manifest.$schema));

    // A second one beside it does not clash.
    expect(await servlets(["new", "other"], [inner])).toMatchObject({ code: 0 });
    const listed = await servlets(["list"], [inner]);
    expect(listed.stdout).toContain(`${longest} (hyper-v2)\n`);
    expect(listed.stdout).toMatch(/tool +other_count +Counts the words, lines and characters of/);

    const inspected = await servlets(["inspect", "other"], [inner]);
    expect(inspected).toMatchObject({ code: 0 });
    expect(inspected.stdout).toMatch(/size .*script .* the interpreter that all/);
    expect(inspected.stdout).toMatch(/answers +(list_tools, call_tool|call_tool, list_tools)\n/);
    expect(inspected.stdout).toContain("The host takes it.");
  });

  describe.each([{}, { view: true }])("makes a test that passes, %j", async (options) => {
    await mkdir(".bundle", { recursive: true });
    const made = await mkdtemp(join(".bundle", "test-servlets-"));
    afterAll(() => rm(made, { recursive: true }));
    await newServlet("sample", [made], options);
    // Its tests are tests of this file.
    await import(resolve(made, "sample/servlet.test.ts"));
  });

  // What it makes: ../openapi.
  test("makes one of the operations that are chosen of a description", async () => {
    const description = "test/node/bundle/openapi/excerpts/forge.json";
    const choice = ["--tag", "repos", "--only", "repos/*", "--only", "activity/*"];
    const { code, stdout } = await servlets(["new", "forge", "--openapi", description, ...choice]);
    expect(code).toBe(0);
    expect(stdout).toContain("2 tools from 7 operations");
    expect(await refused(["new", "b", "--openapi", description, "--only", "x"])).toMatch(
      /nothing in it is chosen/,
    );
  });

  // That they are built and work: docs/languages.long.test.ts, and languages.slow.test.ts.
  test("makes servlets in the languages whose compilers are here, with nothing to build", async () => {
    for (const language of ["c", "as", "python"]) {
      const made = await newServlet(`in-${language}`, [folder], { lang: language });
      expect(made).not.toMatch(/To build it|&&/);
    }
    expect(await unformatted(folder)).toEqual([]);
    const found = await Promise.all(
      ["in-c", "in-as", "in-python"].map((name) =>
        locate(name, { folders: [folder], languages: LANGUAGES }),
      ),
    );
    expect(found.map(({ source }) => source.kind)).toEqual(["c", "assemblyscript", "python"]);
  });

  test.each([
    ["rust", "Cargo.toml", /cargo: .*\n.*wasm32-unknown-unknown: /, "cargo build --release"],
    ["go", "go.mod", /Go 1\.24 or newer: /, "GOOS=wasip1 GOARCH=wasm go build"],
    ["zig", "servlet.zig", /Zig 0\.15 or newer: /, "zig build-exe servlet.zig"],
  ])("says how to build one in %s", async (language, sign, needs, command) => {
    const { stdout } = await servlets(["new", "shout", "--lang", language]);
    expect(stdout).toMatch(needs);
    const [line] = new RegExp(`\\(cd ${join(folder, "shout")} && ${command}.*\\)`).exec(stdout)!;

    // Until that is done, the bundle step says the same.
    expect(await refused(["list"])).toContain(
      `${join(folder, "shout")}: it has a ${sign} and no .wasm: build it with ${line}`,
    );
  });

  test("shows what a model sees of it, and what that takes", async () => {
    await newServlet("shout", [folder]);
    const { stdout } = await servlets(["inspect", "shout", "--as-model"]);
    expect(stdout).toMatch(/^shout_count: about \d+ tokens\n {2}says +Counts the words/m);
    expect(stdout).toContain('"description": "The text to look at."');
    expect(stdout).toMatch(/\nshout: about \d+ tokens of each conversation, 1 tool\./);
    expect(stdout).not.toContain("outputSchema");
  });

  test("makes a view in TypeScript, and says how others get one", async () => {
    const { stdout } = await servlets(["new", "shout", "--view"]);
    expect(stdout).toMatch(/words\.tsx +its view \(docs\/views\.md\)/);
    expect(await unformatted(folder)).toEqual([]);
    expect(await refused(["new", "other", "--view", "--lang", "rust"])).toMatch(
      /--view makes a servlet in TypeScript.*name it in servlet\.json: docs\/views\.md/,
    );
  });

  test("takes a .wasm where cargo leaves it", async () => {
    await newServlet("shout", [folder], { lang: "rust" });
    await put("shout/target/wasm32-unknown-unknown/release/servlet.wasm", "");
    const { source } = await locate("shout", { folders: [folder], languages: LANGUAGES });
    expect(source.files).toEqual([expect.stringMatching(/unknown-unknown.release.servlet\.wasm$/)]);
    await put("shout/target/wasm32-wasip1/release/servlet.wasm", "");
    await expect(locate("shout", { folders: [folder], languages: LANGUAGES })).rejects.toThrow(
      /more than one \.wasm/,
    );
  });

  test("warns where a source is newer than what was built of it", async () => {
    await newServlet("shout", [folder], { lang: "go" });
    const wat = '(module (func (export "call_tool") (result i32) (i32.const 0)))';
    const wasm = await put("shout/servlet.wasm", await assemble(await put("shout.txt", wat)));
    const source = join(folder, "shout/main.go");
    const inspected = async () =>
      (await examine(await locate("shout", { folders: [folder], languages: LANGUAGES }), QUICKLY))
        .warnings;
    const now = Date.now() / 1000;
    await utimes(wasm, now, now);
    await utimes(source, now, now + 1);
    expect(await inspected()).not.toContainEqual(expect.stringContaining("newer"));
    await utimes(source, now, now + 10);
    expect(await inspected()).toContainEqual(
      expect.stringMatching(
        /main\.go is newer than .*servlet\.wasm: \(cd .* go build .*\) builds it/,
      ),
    );
  });

  test("says which name a servlet in Python has to have", async () => {
    await newServlet("kitchen", [folder], { lang: "python" });
    const misnamed = join(folder, "kitchen/kitchen.py");
    await rename(join(folder, "kitchen/servlet.py"), misnamed);
    expect(await refused(["list"])).toContain(
      `${misnamed}: it is a servlet, but only servlet.py is read as one: rename it`,
    );
  });

  test.each(["cobol", "constructor", ""])("refuses the language %j", async (language) => {
    expect(await refused(["new", "shout", "--lang", language])).toMatch(
      `There is no template for the language "${language}": take ts|python|rust|go|c|zig|as`,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(["", "A", "my_notes", "9lives", "-a", "a b", "../up", "a/b", "a.b", "naïve"])(
    "refuses the name %j",
    async (name) => {
      await expect(newServlet(name, [folder])).rejects.toThrow(
        /cannot be a servlet's name: take lower-case letters a-z, digits and -/,
      );
      expect(await readdir(folder)).toEqual([]);
    },
  );

  test.each([
    ["a".repeat(33), /at most 32 characters/],
    ["assembly", /take another name/],
  ])("refuses the name %j", async (name, message) => {
    await expect(newServlet(name, [folder])).rejects.toThrow(message);
  });

  test.each(["taken/notes.txt", "taken.wasm", "taken.wat"])("refuses to touch %s", async (file) => {
    const path = await put(`second/${file}`, "mine");
    const made = newServlet("taken", [join(folder, "first"), join(folder, "second")]);
    await expect(made).rejects.toThrow(/: it is there already, so take another name/);
    expect(await readFile(path, "utf8")).toBe("mine");
  });
});

test("a servlet's own texts are shown, and not interpreted by the terminal", async () => {
  await newServlet("notes", [folder]);
  const path = join(folder, "notes", "servlet.json");
  const manifest = JSON.parse(await readFile(path, "utf8"));
  const description = "Notes\u001b[2J\u202e\u009b1m\u200b.";
  await writeFile(path, JSON.stringify({ ...manifest, description }));
  for (const args of [["list"], ["inspect", "notes"]]) {
    const { code, stdout } = await servlets(args);
    expect(code).toBe(0);
    expect(stdout).toContain("Notes\\u{1b}[2J\\u{202e}\\u{9b}1m\\u{200b}.");
    expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  }
  await writeFile(path, JSON.stringify({ "odd\u001b[2J": 1 }));
  expect(await refused(["list"])).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
});

describe("list", () => {
  test("shows what clients see, with the first sentence of each description", async () => {
    const { code, stdout } = await servlets(
      ["list"],
      ["plugins/http-status", "plugins/hello", "test/guests/seasonal"],
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hello \(hyper-v2\) Greets\.\n  tool +greet +Greets [^.]*\.\n/);
    expect(stdout).toMatch(/\n  resource +http-status:\/\/index +\S/);
    expect(stdout).toMatch(/\n  template +http-status:\/\/\{code\} +\S/);
    expect(stdout).toMatch(/\nseasonal \(hyper-v2\)\n  is asked at run time/);
    expect(stdout).toMatch(/\n  prompt +explain_status +\S/);
  });

  test("says what to do where there are none", async () => {
    expect((await servlets(["list"])).stdout).toMatch(/no servlets.*-- new NAME/);
  });

  test("says what is wrong with one", async () => {
    await put("a/servlet.json", '{"prefixes": 1}');
    await put("a/a.wat", "(module)");
    expect(await refused(["list"])).toMatch(/the key prefixes is unknown/);
  });
});

describe("inspect", () => {
  /** An export is all that a plugin needs in order to be looked at. */
  const plugin = (inside: string) =>
    `(module ${inside} (func (export "call_tool") (result i32) (i32.const 0)))`;

  /** As the command would, without a process of its own. */
  async function inspected(what: string, folders = [folder]) {
    const examined = await examine(await locate(what, { folders, languages: LANGUAGES }), QUICKLY);
    return {
      refusal: examined.refusal,
      text: servletReport(examined),
      forModels: modelReport(examined),
    };
  }

  test("shows a servlet that is taken", async () => {
    const { code, stdout } = await servlets(["inspect", "hello"], ["plugins"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/source +plugins\/hello\/assembly\/index\.ts \(assemblyscript\)/);
    expect(stdout).toMatch(/dialect +hyper-v2/);
    expect(stdout).toMatch(/size +built [\d.]+ KB, prepared [\d.]+ KB \([\d.]+ KB gzipped\)/);
    expect(stdout).toMatch(
      /adds +[\d.]+ KB \([\d.]+ KB gzipped\) to the Worker, about \d+ tokens to each conversation\n/,
    );
    expect(stdout).toMatch(/memory +64 KiB to begin with, at most 64 MiB/);
    expect(stdout).toMatch(/instances +put back/);
    expect(stdout).toMatch(/start +once, when the bundle is made/);
    expect(stdout).toMatch(/calls +greet: [\d.]+ ms, [\d,]+ of fuel\n/);
    expect(stdout).toMatch(/first call +[\d.]+ ms, in a new isolate\n/);
    expect(stdout).toMatch(/free plan +\w.* ms of 10 ms of CPU.*KB of 64 MiB\n/s);
    expect(stdout).toMatch(/answers +list_tools, call_tool/);
    expect(stdout).toMatch(/extism:host\/env: \w+,/);
    expect(stdout).not.toContain("not offered");
    expect(stdout).toMatch(/tool +greet/);
    expect(stdout).toContain("The host takes it.");
  });

  test("names the settings that a servlet lacks here", async () => {
    await put("needy/a.wat", plugin('(memory (export "memory") 1)'));
    await put("needy/servlet.json", '{"env_vars":{"api":"${ISSUES_API}","size":"${SIZE:-20}"}}');
    const { stdout } = await servlets(["inspect", "needy"]);
    expect(stdout).toMatch(/warning: Settings are missing: needy needs ISSUES_API\. Set each in/);
  });

  test("shows what it can of one that is refused", async () => {
    const imports =
      '(import "env" "f" (func)) (import "env" "abort" (func (param i32 i32 i32 i32))) (import "x" "y" (global i32))';
    const path = await put("a.wat", plugin(`${imports} (memory (export "memory") 2 3)`));
    const { code, stdout, stderr } = await servlets(["inspect", path]);
    expect(code).toBe(1);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(stdout).toMatch(/dialect +hyper-v2/);
    expect(stdout).toMatch(/memory +128 KiB to begin with, at most 64 MiB/);
    expect(stdout).toMatch(/answers +call_tool\n/);
    expect(stdout).toMatch(/also exports +memory\n/);
    expect(stdout).toMatch(/imports +env: abort\n/);
    expect(stdout).toMatch(/not offered +x: y \(global\)\n +env: f\n/);
    expect(stdout).toMatch(/The host refuses it\.\n.*a\.wat: it imports the global x\.y/);
  });

  test.each<[string, string | Uint8Array, RegExp]>([
    ["a.wasm", "hello", /it is not WebAssembly/],
    ["a.wasm", new Uint8Array([0, 97, 115, 109, 13, 0, 1, 0]), /no function that could be a tool/],
    [
      "a.wasm",
      new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]),
      /dialect +none.*it is not a servlet/s,
    ],
    ["a.wat", "(module (oops", /wasm-as/],
    ["a.wat", plugin("(memory 5000)"), /312\.5 MiB to begin with.*raise memory_limit/s],
    [
      "a.wat",
      `(module (func (export "list_tools") (result i32) unreachable)
         (func (export "call_tool") (result i32) unreachable))`,
      /size .*prepared.*answers +list_tools, call_tool.*could not be asked/s,
    ],
  ])("tells why %s %o is refused", async (name, content, message) => {
    const { refusal, text, forModels } = await inspected(await put(name, content));
    expect(text).toContain(`The host refuses it.\n${refusal}`);
    expect(forModels).toBe(`a lists no tools for models.\nThe host refuses it.\n${refusal}`);
    expect(text).toMatch(message);
  });

  test("reads the manifest beside a file, and tells its warnings", async () => {
    await put("a/servlet.json", '{"memory_limit": "1Mi", "description": "Nothing much"}');
    const path = await put("a/any.wat", plugin("(memory 1)"));
    const { refusal, text } = await inspected(path);
    expect(refusal).toBeUndefined();
    expect(text).toMatch(/^a\n.*about +Nothing much\n.*at most 1 MiB/s);
    expect(text).toContain("warning: it offers nothing");
  });

  test("tells why an instance is not used again", async () => {
    const table = `(table 1 funcref) (elem declare func $f)
      (func $f (export "list_tools") (result i32) (table.set (i32.const 0) (ref.func $f)) (i32.const 0))`;
    const { text } = await inspected(await put("a.wat", plugin(table)));
    expect(text).toMatch(/instances +a new one for each call.*table\.set/);
  });

  test("says that lists are asked for at run time", async () => {
    const { text } = await inspected("test/guests/seasonal");
    expect(text).toContain("asked for at run time");
  });

  test("shows the type error of a script", async () => {
    await put("wrong/servlet.ts", "const one: string = 1;\nexport default one;\n");
    const { text } = await inspected("wrong");
    expect(text).toMatch(/servlet\.ts\(1,7\): error TS2322/);
  });

  test("names the servlets that there are where there is none of this name", async () => {
    await put("one/one.wat", plugin(""));
    await expect(locate("two", { folders: [folder], languages: LANGUAGES })).rejects.toThrow(
      /no servlet two.*those there are one\./,
    );
    await expect(locate("two.wasm", { folders: [folder], languages: LANGUAGES })).rejects.toThrow(
      /two\.wasm: there is no such file/,
    );
  });
});
