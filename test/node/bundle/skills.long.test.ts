import { mkdir, symlink } from "node:fs/promises";
import { expect, test } from "vitest";
import { buildOf } from "../../../src/tools/bundle/build-files.ts";
import { buildLinesOf, compare } from "../../../src/tools/bundle/differences.ts";
import { demandOwnFolders, skillsIn } from "../../../src/tools/bundle/skills.ts";
import { bundling } from "./bundling.ts";
import { lists } from "./modules.ts";

/** Skills as the bundle step checks them. https://agentskills.io/specification */
const { at, bundle, makeOf } = bundling();

const skill = (name: string, more = "", body = "Do it.") =>
  `---\nname: ${name}\ndescription: Does it.\n${more}---\n${body}\n`;

/** A servlet with files in its folder of skills. */
const withSkills = (files: Record<string, string | Uint8Array>) => ({
  "a/a.wat": lists("draw"),
  ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`a/skills/${path}`, text])),
});

test("files of any kind are part of a skill; hidden ones are not", async () => {
  const [member] = await bundle(
    withSkills({
      "one/SKILL.md": skill(
        "one",
        "",
        "[a](a.py) [b](deep/b.txt) [c](deep/) [d](https://x.y) [e](#e)",
      ),
      "one/a.py": "print(1)",
      "one/deep/b.txt": "b",
      "one/deep/c.bin": new Uint8Array([0, 255]),
      "one/.DS_Store": "x",
      ".hidden/x": "x",
    }),
  );
  const { skills, bytes } = member!.skills!;
  expect(skills.skills).toEqual([
    { path: "one", frontmatter: { name: "one", description: "Does it." } },
  ]);
  expect(skills.files.map(({ path, type, isText }) => [path, type, isText])).toEqual([
    ["one/SKILL.md", "text/markdown", true],
    ["one/a.py", "text/x-python", true],
    ["one/deep/b.txt", "text/plain", true],
    ["one/deep/c.bin", "application/octet-stream", false],
  ]);
  expect(bytes.length).toBe(skills.files.reduce((sum, { size }) => sum + size, 0));
});

/** The skills that are served, and the warnings about them. */
async function made(files: Record<string, string | Uint8Array>) {
  const [member] = await bundle(withSkills(files));
  const { skills = [], files: served = [] } = member!.skills?.skills ?? {};
  return {
    skills: skills.map(({ path }) => path),
    frontmatter: skills.map(({ frontmatter }) => frontmatter),
    files: served.map(({ path }) => path),
    bytes: member!.skills?.bytes,
    warnings: member!.warnings.filter((one) => one.includes("skills/")),
  };
}

test.each([
  ["code in a list", "1. Run this:\n   ```py\n   a[0](b)\n   ```\n2. `[a](b)`"],
  ["code with more marks", "````md\n```\n[a](b)\n```\n[a](b)\n````\n``[a](b) ` ``"],
  ["code without an end", "Run:\n~~~\n[a](b)\n"],
  ["indented code", "Run:\n\n    [a](b)\n    [a](b)\n\n    [a](b)\n\nor\n\n\t[a](b)"],
  ["comments", "<!-- [a](b)\n[a](b) --> and <!-- [a](b)"],
])("links in %s are none", async (_what, body) => {
  expect(await made({ "one/SKILL.md": skill("one", "", body) })).toMatchObject({
    skills: ["one"],
    warnings: [],
  });
});

const umlauts = skill("one").replace("Does it.", "Tut es für Ärzte.");
const utf16 = (text: string, isBig = false) => {
  const bytes = new Uint8Array(Buffer.from(text, "utf16le"));
  return isBig ? new Uint8Array(Buffer.from(bytes).swap16()) : bytes;
};

test.each<[string, string | Uint8Array, warnings: number]>([
  ["UTF-8 with a byte order mark", `\uFEFF${umlauts}`, 0],
  ["UTF-16", utf16(`\uFEFF${umlauts}`), 0],
  ["UTF-16 with its large bytes first", utf16(`\uFEFF${umlauts}`, true), 0],
  ["UTF-16 without a byte order mark", utf16(umlauts), 0],
  ["Windows-1252", new Uint8Array(Buffer.from(umlauts, "latin1")), 1],
])("a skill in %s is served in UTF-8", async (_what, bytes, count) => {
  const got = await made({ "one/SKILL.md": bytes });
  expect(got.frontmatter).toEqual([{ name: "one", description: "Tut es für Ärzte." }]);
  expect(new TextDecoder("utf-8", { ignoreBOM: true }).decode(got.bytes)).toBe(umlauts);
  expect(got.warnings).toHaveLength(count);
});

test("frontmatter may have unquoted texts that YAML requires to be quoted", async () => {
  const more = [
    "argument-hint: [file] [n]",
    "when: Use it when: asked,",
    "  or else: not",
    "note: @me",
    "list:",
    "- a",
    "metadata: { a: b }",
  ];
  const { frontmatter, warnings } = await made({
    "one/SKILL.md": skill("one", `${more.join("\r\n")}\n`),
  });
  expect(frontmatter).toEqual([
    {
      name: "one",
      description: "Does it.",
      "argument-hint": "[file] [n]",
      when: "Use it when: asked, or else: not",
      note: "@me",
      list: ["a"],
      metadata: { a: "b" },
    },
  ]);
  expect(warnings).toEqual([]);
});

test("skills may link to each other, and lie in folders of a collection", async () => {
  const got = await made({
    "one/SKILL.md": skill("one", "", "[b](../two/SKILL.md) [c](../two/) [d](../more/three/a.md)"),
    "one/deep/a.md": "[b](../../two/b.md)",
    "two/SKILL.md": skill("two"),
    "two/b.md": "b",
    "more/three/SKILL.md": skill("three"),
    "more/three/a.md": "a",
    "more/README.md": "r",
    "README.md": "r",
    LICENSE: "l",
  });
  expect(got.skills).toEqual(["more/three", "one", "two"]);
  expect(got.files).not.toContain("more/README.md");
  expect(got.files).not.toContain("README.md");
  expect(got.warnings).toEqual([]);
});

test("an invalid skill is left out, and the others are served", async () => {
  const got = await made({
    "bad/SKILL.md": "# Bad",
    "bad/a.md": "a",
    "one/SKILL.md": skill("one"),
    "one/bad/SKILL.md": skill("worse"),
  });
  expect(got.skills).toEqual(["one"]);
  expect(got.files).toEqual(["one/SKILL.md", "one/bad/SKILL.md"]);
  expect(got.warnings).toEqual([
    expect.stringMatching(/^skills\/bad\/SKILL\.md .*Until then this skill is left out\.$/),
    expect.stringMatching(/^skills\/one\/bad\/SKILL\.md names the skill worse/),
  ]);
});

test("a lone file, and a servlet without the folder, have none", async () => {
  const members = await bundle({
    "a.wat": lists("draw"),
    "skills/x/SKILL.md": skill("x"),
    "b/b.wat": lists("paint"),
  }).catch((error: Error) => error.message);
  expect(members).toMatchObject([{ found: { name: "a" } }, { found: { name: "b" } }]);
  expect((members as object[]).some((one) => "skills" in one)).toBe(false);
});

test("those of a project are read as well", async () => {
  await bundle({ "p/a/a.wat": lists("draw"), "skills/both/SKILL.md": skill("both") }).catch(
    () => {},
  );
  const { archive } = await skillsIn(at(""), ".bundle");
  expect(archive?.skills.skills).toMatchObject([{ path: "both" }]);
  expect(() => demandOwnFolders(archive, ["a"])).not.toThrow();
  expect(() => demandOwnFolders(archive, ["a", "both"])).toThrow(
    /skills\/both: a servlet has this/,
  );
});

test("a change of a skill is shown before an update", async () => {
  const lines = async (text: string) => {
    const [member] = await bundle(withSkills({ "one/SKILL.md": text, "one/a.md": "a" }));
    return buildLinesOf(buildOf(member!).build);
  };
  const [before, worded, described] = [
    await lines(skill("one")),
    await lines(skill("one", "", "Do more.")),
    await lines(skill("one").replace("Does it", "Deletes it")),
  ];
  expect(compare(before, worded)).toEqual([
    "  skill one",
    expect.stringMatching(/^- file one\/SKILL\.md [0-9a-f]{64}$/),
    expect.stringMatching(/^\+ file one\/SKILL\.md [0-9a-f]{64}$/),
  ]);
  expect(compare(before, described)).toContain('+   "description": "Deletes it.",');
});

test.each<[string, Record<string, string | Uint8Array>, RegExp]>([
  [
    "has no SKILL.md",
    { "one/a.md": "a" },
    /skills\/one has no SKILL\.md, so its files are left out: write it/,
  ],
  ["has no folder", { "SKILL.md": skill("one") }, /skills\/SKILL\.md is in no folder: move it/],
  ["has no frontmatter", { "one/SKILL.md": "# One" }, /does not begin with frontmatter: write ---/],
  [
    "has open frontmatter",
    { "one/SKILL.md": "---\nname: one\n" },
    /does not begin with frontmatter/,
  ],
  ["is no text", { "one/SKILL.md": new Uint8Array([255]) }, /does not begin with frontmatter/],
  ["is not YAML", { "one/SKILL.md": "---\nname:\n [\n---\n" }, /frontmatter that is not YAML: .+/],
  [
    "ends its frontmatter otherwise than clients want it",
    { "one/SKILL.md": skill("one").replace("\n---\n", "\n--- \n") },
    /does not begin with frontmatter/,
  ],
  [
    "has maps that are keys of maps",
    { "one/SKILL.md": skill("one", `a:\n  ${"? ".repeat(300)}x\n`) },
    /not YAML: Map keys must be texts/,
  ],
  ["has a list", { "one/SKILL.md": "---\n- a\n---\n" }, /not a map of names to values/],
  [
    "is an alias bomb",
    {
      "one/SKILL.md": `---\na: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c]\n---\n`,
    },
    /frontmatter that cannot be used: name/,
  ],
  [
    "has a key twice",
    { "one/SKILL.md": skill("one", "name: two\n") },
    /not YAML: Map keys must be unique/,
  ],
  [
    "has another name",
    { "one/SKILL.md": skill("two") },
    /names the skill two, and its folder is one/,
  ],
  ["has capitals", { "One/SKILL.md": skill("One") }, /name must be small letters and digits/],
  ["has two hyphens", { "a--b/SKILL.md": skill("a--b") }, /single hyphens/],
  [
    "describes nothing",
    { "one/SKILL.md": skill("one").replace("Does it.", "' '") },
    /description is missing/,
  ],
  ["has no description", { "one/SKILL.md": "---\nname: one\n---\n" }, /description/],
  [
    "describes too much",
    { "one/SKILL.md": skill("one").replace("Does it.", "x".repeat(1025)) },
    /description .*1024/,
  ],
  [
    "has too many files",
    {
      "one/SKILL.md": skill("one"),
      ...Object.fromEntries(Array.from({ length: 512 }, (_, nth) => [`one/${nth}.md`, ""])),
    },
    /has 513 files, and 512 is the limit/,
  ],
  [
    "has 50 MB",
    { "one/SKILL.md": skill("one"), "one/a.bin": new Uint8Array(50 * 1024 * 1024) },
    /skills\/one has 52\d+ bytes, and 16777216 is the limit/,
  ],
])("a skill is left out that %s", async (_what, files, message) => {
  const { skills, warnings } = await made({ ...files, "ok/SKILL.md": skill("ok") });
  expect(skills).toEqual(["ok"]);
  expect(warnings.join("\n")).toMatch(message);
});

test.each<[string, Record<string, string>, RegExp]>([
  [
    "nothing",
    { "one/SKILL.md": skill("one", "", "[a](references/A.md)") },
    /skills\/one\/SKILL\.md links to references\/A\.md, which/,
  ],
  [
    "nothing in another skill",
    { "one/SKILL.md": skill("one", "", "[a](../two/a.md)"), "two/SKILL.md": skill("two") },
    /links to \.\.\/two\/a\.md/,
  ],
  [
    "another skill by the wrong path",
    {
      "one/SKILL.md": skill("one"),
      "one/deep/a.md": "[b](two/b.md)",
      "two/SKILL.md": skill("two"),
      "two/b.md": "b",
    },
    /one\/deep\/a\.md links to two\/b\.md/,
  ],
  [
    "a file beside the skills",
    { "one/SKILL.md": skill("one", "", "[a](../README.md)"), "README.md": "a" },
    /links to \.\.\/README\.md/,
  ],
  [
    "a place elsewhere",
    { "one/SKILL.md": skill("one", "", "![a](/etc/passwd)") },
    /links to \/etc\/passwd/,
  ],
])("a skill is served with a warning that links to %s", async (_what, files, message) => {
  const { skills, warnings } = await made(files);
  expect(skills).toContain("one");
  expect(warnings).toEqual([expect.stringMatching(message)]);
});

test("skills that are too large together are refused", async () => {
  const names = Array.from({ length: 5 }, (_, nth) => `skill-${nth}`);
  const files = names.flatMap((name) => [
    [`${name}/SKILL.md`, skill(name)] as const,
    [`${name}/a.bin`, new Uint8Array(4 * 1024 * 1024)] as const,
  ]);
  await expect(bundle(withSkills(Object.fromEntries(files)))).rejects.toThrow(
    /its skills have 20\d+ bytes, and 16777216 is the limit/,
  );
});

test("skills in each other are refused where lists of their files would be long", async () => {
  const paths = Array.from({ length: 200 }, (_, depth) =>
    Array.from({ length: depth + 1 }, () => "in-each-other").join("/"),
  );
  const files = paths.map((path) => [`${path}/SKILL.md`, skill("in-each-other")] as const);
  await expect(bundle(withSkills(Object.fromEntries(files)))).rejects.toThrow(
    /the list of its skills' files has \d{8} characters, and 1048576 is the limit: nest/,
  );
});

test("links are found in time by the length of a text", async () => {
  const text = `${"](".repeat(500_000)}\n${'](a "'.repeat(300_000)}\n${"[a](b.md)".repeat(100_000)}`;
  const files = { "one/SKILL.md": skill("one", "", text), "one/b.md": "b" };
  const [member] = await bundle(withSkills(files));
  expect(member!.skills!.skills.files).toHaveLength(2);
});

test("a folder of skills may be a link within the servlet", async () => {
  await bundle({ "a/a.wat": lists("draw"), "a/deep/one/SKILL.md": skill("one") });
  await symlink(at("a/deep"), at("a/skills"));
  const [member] = await makeOf(at(""));
  expect(member!.skills!.skills.skills).toMatchObject([{ path: "one" }]);
});

test("a folder of skills that is a link elsewhere is refused", async () => {
  await expect(bundle({ "b/b.wat": lists("draw") })).resolves.toHaveLength(1);
  await mkdir(at("elsewhere"));
  await symlink(at("elsewhere"), at("b/skills"));
  await expect(makeOf(at(""))).rejects.toThrow(/skills is a link to .*elsewhere, outside/);
});
