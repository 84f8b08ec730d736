/**
 * The steps of the extension's own client: skills are listed, got and read, and all that is read is verified.
 * https://github.com/modelcontextprotocol/ext-skills/tree/main/examples/skills-client
 */
import { hash } from "node:crypto";
import { expect } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

/** Makes a request, and gives its result. */
export type Request = (method: string, params: object) => Promise<unknown>;

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

const entrySchema = z.strictObject({
  uri: z.string().endsWith("/SKILL.md"),
  frontmatter: z.looseObject({ name: z.string(), description: z.string() }),
  resources: z
    .array(
      z.strictObject({
        uri: z.string(),
        digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
        size: z.int().min(0),
      }),
    )
    .min(1)
    .max(512),
});
const listSchema = z.looseObject({
  skills: z.array(entrySchema),
  nextCursor: z.string().optional(),
});
const directorySchema = z.looseObject({
  resources: z.array(z.looseObject({ uri: z.string(), mimeType: z.string() })),
  nextCursor: z.string().optional(),
});
const readSchema = z.looseObject({
  contents: z.tuple([z.looseObject({ text: z.string().optional(), blob: z.string().optional() })]),
});

/** The URIs of all skills, each of which is verified as a host must. */
export async function verifiedSkills(request: Request): Promise<string[]> {
  const skills: z.infer<typeof entrySchema>[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
    const page = listSchema.parse(await request("skills/list", cursor ? { cursor } : {}));
    skills.push(...page.skills);
    cursor = page.nextCursor;
  }
  for (const skill of skills) await verify(skill, request);
  await expect(
    request("skills/get", { uri: "skill://not-a-skill/SKILL.md" }),
  ).rejects.toMatchObject({ code: -32602 });
  return skills.map(({ uri }) => uri);
}

async function verify(skill: z.infer<typeof entrySchema>, request: Request): Promise<void> {
  const { uri, frontmatter, resources } = skill;
  const folder = uri.replace(/\/SKILL\.md$/, "");
  const uris = resources.map((one) => one.uri);
  expect(folder.split("/").at(-1)).toBe(frontmatter.name);
  expect(new Set(uris).size).toBe(uris.length);
  expect(uris).toContain(uri);
  expect(uris.filter((one) => !one.startsWith(`${folder}/`))).toEqual([]);
  expect(await request("skills/get", { uri })).toMatchObject({ skill });
  for (const { uri: file, digest, size } of resources) {
    const [{ text, blob }] = readSchema.parse(
      await request("resources/read", { uri: file }),
    ).contents;
    const bytes = text === undefined ? Buffer.from(blob!, "base64") : Buffer.from(text);
    expect([file, bytes.length, `sha256:${hash("sha256", bytes)}`]).toEqual([file, size, digest]);
    if (file !== uri) continue;
    const [, written] = /^---\r?\n([^]*?)\r?\n---(?:\r?\n|$)/.exec(text!)!;
    expect(JSON.parse(JSON.stringify(parse(written!)))).toEqual(frontmatter);
  }
  expect((await walked(folder, request)).toSorted()).toEqual(uris.toSorted());
  await expect(request("resources/directory/read", { uri })).rejects.toMatchObject({
    code: -32602,
  });
}

/** The URIs of all files in a folder. */
async function walked(folder: string, request: Request): Promise<string[]> {
  const files: string[] = [];
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
    const params = { uri: folder, ...(cursor && { cursor }) };
    const page = directorySchema.parse(await request("resources/directory/read", params));
    for (const { uri, mimeType } of page.resources) {
      files.push(...(mimeType === "inode/directory" ? await walked(uri, request) : [uri]));
    }
    cursor = page.nextCursor;
  }
  return files;
}
