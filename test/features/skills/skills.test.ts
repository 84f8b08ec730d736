import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import type { Build } from "../../../src/server/features/installs/build.ts";
import { demandServable } from "../../../src/server/features/installs/servable.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { skillsContributor } from "../../../src/server/features/skills/skills.ts";
import type { PreparedServlet, StoredPart } from "../../../src/server/kernel/servlets/bundle.ts";
import { isSkillOfProject } from "../../../src/server/kernel/servlets/skills.ts";
import { bundle } from "../../bundle.gen.ts";
import { hashed } from "../../worker/auth/key-holders.ts";
import { newAddress, send, type Json } from "../../worker/calls/client.ts";
import { ask } from "../../worker/server.ts";

/** Skills on the wire: each MUST of the specification that is a server's. */
const EXTENSION = "io.modelcontextprotocol/skills";
const GUIDE = "skill://viewing/guide/SKILL.md";
const FILES = [
  "skill://viewing/guide/SKILL.md",
  "skill://viewing/guide/assets/a%20dot.png",
  "skill://viewing/guide/deeper/SKILL.md",
  "skill://viewing/guide/references/FORMS.md",
];

interface Entry {
  uri: string;
  frontmatter: Json;
  resources: { uri: string; digest: string; size: number }[];
}

const resultOf = async (method: string, params: object = {}): Promise<any> =>
  (await ask(method, params)).result;
const all = async (): Promise<Entry[]> => (await resultOf("skills/list")).skills;
const entryOf = async (uri: string) => (await all()).find((one) => one.uri === uri)!;

async function bytesOf(uri: string): Promise<Uint8Array<ArrayBuffer>> {
  const { contents } = await resultOf("resources/read", { uri });
  const { text, blob } = contents[0];
  return new Uint8Array(
    blob === undefined ? new TextEncoder().encode(text) : Uint8Array.fromBase64(blob),
  );
}

test("the server declares skills, folders and resources", async () => {
  const { capabilities } = await resultOf("server/discover");
  expect(capabilities.extensions[EXTENSION]).toEqual({ directoryRead: true });
  expect(capabilities.resources).toBeDefined();
});

test("a listed skill has its frontmatter as it is written, and all of its files", async () => {
  const listed = await resultOf("skills/list");
  expect(listed).toMatchObject({ resultType: "complete", cacheScope: "public" });
  expect(listed.ttlMs).toBeGreaterThan(0);
  const { frontmatter, resources } = await entryOf(GUIDE);
  expect(frontmatter).toEqual({
    name: "guide",
    description: "Guides through the board.",
    license: "Apache-2.0",
    metadata: { version: "1.0", tags: ["a", "b"] },
    "allowed-tools": "Bash",
  });
  expect(resources.map(({ uri }) => uri)).toEqual(FILES);
});

test("each file has the listed digest and size, and no byte order mark", async () => {
  for (const { resources } of await all()) {
    for (const { uri, digest, size } of resources) {
      const bytes = await bytesOf(uri);
      expect({ uri, size: bytes.length }).toEqual({ uri, size });
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
      expect({ uri, digest: `sha256:${hash}` }).toEqual({ uri, digest });
    }
  }
  expect((await bytesOf("skill://viewing/guide/references/FORMS.md"))[0]).not.toBe(0xef);
});

test("a nested skill has an entry of its own", async () => {
  const { frontmatter, resources } = await entryOf(FILES[2]!);
  expect(frontmatter["name"]).toBe("deeper");
  expect(resources.map(({ uri }) => uri)).toEqual([FILES[2]]);
});

test("skills/get gives the entry of a listed skill, and knows no others", async () => {
  const { skill, ttlMs, cacheScope, resultType } = await resultOf("skills/get", { uri: GUIDE });
  expect(skill).toEqual(await entryOf(GUIDE));
  expect({ cacheScope, resultType }).toEqual({ cacheScope: "public", resultType: "complete" });
  expect(ttlMs).toBeGreaterThan(0);
  for (const uri of [
    "skill://viewing/guide",
    FILES[3],
    "skill://other/SKILL.md",
    "ui://viewing/board",
  ]) {
    const { error } = await ask("skills/get", { uri });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("no skill") });
  }
  expect((await ask("skills/get")).error?.code).toBe(-32602);
  const gone = await ask("resources/read", { uri: "skill://viewing/guide/none.md" });
  expect(gone.error?.code).toBe(-32602);
});

describe("resources/directory/read", () => {
  const childrenOf = async (uri: string) => {
    const { resources } = await resultOf("resources/directory/read", { uri });
    return resources.map((one: Json) => `${one["uri"]} ${one["name"]} ${one["mimeType"]}`);
  };

  test("gives the children of each folder", async () => {
    const guide = "skill://viewing/guide";
    const folder = "inode/directory";
    expect(await childrenOf(guide)).toEqual([
      `${guide}/SKILL.md guide text/markdown`,
      `${guide}/assets assets ${folder}`,
      `${guide}/deeper deeper ${folder}`,
      `${guide}/references references ${folder}`,
    ]);
    expect(await childrenOf(`${guide}/assets`)).toEqual([
      `${guide}/assets/a%20dot.png a dot.png image/png`,
    ]);
    expect(await childrenOf("skill://viewing")).toEqual([`${guide} guide ${folder}`]);
    expect(await childrenOf("skill://")).toContain(`skill://viewing viewing ${folder}`);
  });

  test.each([
    GUIDE,
    "skill://viewing/guide/",
    "skill://viewing/gui",
    "skill://none",
    "x:y",
    "",
    "skill:",
    "skill:/",
    "skill:///",
    "skill://viewing/guide/../guide",
    "skill://viewing%2Fguide",
  ])("refuses %j", async (uri) => {
    const { error } = await ask("resources/directory/read", { uri });
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("no folder") });
  });
});

test("other clients see a skill as a resource, and read of it in the instructions", async () => {
  const { resources } = await resultOf("resources/list");
  expect(resources).toContainEqual({
    uri: GUIDE,
    name: "guide",
    description: "Guides through the board.",
    mimeType: "text/markdown",
    size: expect.any(Number),
  });
  expect(resources.map(({ uri }: Json) => uri)).not.toContain(FILES[3]);
  const { instructions } = await resultOf("server/discover");
  expect(instructions).toContain(`- ${GUIDE}: Guides through the board.`);
  const clientCapabilities = { extensions: { [EXTENSION]: {} } };
  const known = await ask(
    "server/discover",
    {},
    {
      "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
    },
  );
  expect(known.result!["instructions"] ?? "").not.toContain("skill://");
});

test("who may not use a servlet does not see its skills", async () => {
  const keys = {
    ada: { hash: (JSON.parse(await hashed(["ada"])) as Json)["ada"], scopes: ["hello:*"] },
    bob: { hash: (JSON.parse(await hashed(["bob"])) as Json)["bob"], scopes: ["viewing:*"] },
    eve: { hash: (JSON.parse(await hashed(["eve"])) as Json)["eve"], scopes: [`viewing:${GUIDE}`] },
  };
  const server = createApp(new Kernel(bundle, { ...env, API_KEYS: JSON.stringify(keys) }));
  const by = (name: string) => ({
    server,
    headers: { authorization: `Bearer ${name}`, "cf-connecting-ip": newAddress() },
  });
  const { result: hers } = await send("skills/list", {}, by("ada"));
  expect(hers!["skills"]).toEqual([]);
  expect((await send("skills/get", { uri: GUIDE }, by("ada"))).error?.code).toBe(-32602);
  const folder = { uri: "skill://viewing/guide" };
  const refused = await send("resources/directory/read", folder, by("ada"));
  expect(refused.error?.code).toBe(-32602);
  expect((await send("resources/read", { uri: GUIDE }, by("ada"))).error).toBeDefined();
  const { result: his } = await send("skills/list", {}, by("bob"));
  expect(his!["skills"].map(({ uri }: Json) => uri)).toContain(GUIDE);
  const { result: one } = await send("skills/get", { uri: GUIDE }, by("eve"));
  expect(one!["skill"].resources.map(({ uri }: Json) => uri)).toEqual([GUIDE]);
});

describe("skills of an installed build", () => {
  const readSkill = (servlet: PreparedServlet, uri: string, stored: StoredPart) =>
    skillsContributor.resources!(servlet)
      .find(({ resource }) => resource.uri === uri)!
      .read(stored, { name: "ada" });
  const file = { path: "a/SKILL.md", type: "text/markdown", isText: true, digest: "", size: 3 };
  const skills = { skills: [], files: [file] };
  const build = (files: object[], parts: object = { skills: "x" }) =>
    ({ manifest: {}, parts, skills: { skills: [], files } }) as unknown as Build;

  test("read nothing beyond an archive that is shorter than they say", async () => {
    const servlet = { name: "a", skills, parts: { module: "", skills: "x" } } as never;
    const read = (bytes: number) =>
      readSkill(servlet, "skill://a/a/SKILL.md", async () => new ArrayBuffer(bytes));
    await expect(read(2)).rejects.toMatchObject({
      code: "not_found",
      data: { uri: "skill://a/a/SKILL.md" },
    });
    expect(await read(3)).toMatchObject({ contents: [{ mimeType: "text/markdown" }] });
  });

  test("are answered as resources that are not there where their archive has nothing of them", async () => {
    const named = (name: string) => bundle.servlets.find((one) => one.name === name)!;
    // It has no resources of its own.
    const factor = {
      ...named("factor"),
      skills: { ...named("viewing").skills!, archive: new ArrayBuffer(1) },
    };
    const server = createApp(new Kernel({ ...bundle, servlets: [factor] }, env));
    const uri = "skill://factor/guide/SKILL.md";
    const { error } = await send("resources/read", { uri }, { server });
    expect(error).toMatchObject({ code: -32602, data: { uri } });
  });

  test("are not in a folder of a skill of the project", () => {
    const [own, other] = [{ name: "server", skills: { files: [file] } }, { name: "a" }] as never[];
    expect(isSkillOfProject([own!, other!], "a")).toBe(true);
    expect(isSkillOfProject([other!], "a")).toBe(false);
    expect(isSkillOfProject([own!], "b")).toBe(false);
  });

  test("are read in part", async () => {
    const files = ["a", "b", "c"].map((path, size) => ({ ...file, path, size }));
    const servlet = {
      name: "x",
      skills: { skills: [], files },
      parts: { module: "", skills: "d" },
    } as never;
    const asked: unknown[] = [];
    for (const { path } of files) {
      await readSkill(servlet, `skill://x/${path}`, async (...given) => {
        asked.push(given);
        return new ArrayBuffer(given[1]!.length);
      });
    }
    expect(asked).toEqual([
      ["d", { offset: 0, length: 1 }],
      ["d", { offset: 1, length: 2 }],
    ]);
  });

  const nested = Array.from({ length: 200 }, (_, depth) =>
    Array(depth + 1)
      .fill("abcdefghij")
      .join("/"),
  );
  const frontmatter = { name: "abcdefghij", description: "d" };
  const bomb = {
    skills: nested.map((path) => ({ path, frontmatter })),
    files: nested.map((path) => ({ ...file, path: `${path}/SKILL.md` })),
  };
  const withSkill = (path: string, name: string) => ({
    ...build([]),
    skills: { skills: [{ path, frontmatter: { name, description: "d" } }], files: [file] },
  });

  test.each<[string, Build, RegExp]>([
    [
      "a path that leads elsewhere",
      build([{ ...file, path: "a/../b" }]),
      /must be a path of names/,
    ],
    ["a name that is not its folder's", withSkill("a", "b"), /must be in a folder of its name/],
    [
      "skills in each other",
      { ...build([]), skills: bomb },
      /list of its skills' files has \d{8} c/,
    ],
    ["a path that no URI has", build([{ ...file, path: "\ud800" }]), /must be well-formed/],
    ["a size that no file has", build([{ ...file, size: -1 }]), /skills/],
    ["a gigabyte", build([{ ...file, size: 2 ** 30 }]), /its skills have 1073741824 bytes/],
    ["no archive", build([file], {}), /there together, or not at all/],
  ])("are refused with %s", (_what, given, message) => {
    expect(() => demandServable(given)).toThrow(message);
  });
});
