import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { loadServlet } from "../../../../src/tools/testing/index.ts";

/** Webhooks in servlets in TypeScript. */

/** A folder with this servlet. */
async function folderOf(source: string): Promise<string> {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "hooks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "servlet.ts"), source);
  return folder;
}

const servletWith = (webhooks: string) => `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ webhooks: ${webhooks} });
`;

test("a webhook's handler gets the delivery and the context, and its result is one of a tool", async () => {
  const servlet = await loadServlet(
    await folderOf(
      servletWith(`{
  all: {
    verify: { type: "none" },
    receive: (request, { client, meta }) => JSON.stringify({ request, client, meta }),
  },
  nothing: { verify: { type: "none" }, receive: () => {} },
  later: { verify: { type: "none" }, receive: async () => ({ a: 1 }) },
  bad: { verify: { type: "none" }, receive: async () => { throw new Error("It fails."); } },
}`),
    ),
  );
  const delivery = { id: "one", headers: { "x-a": "b" }, body: "hello" };
  const { result } = await servlet.receiveWebhook("all", delivery, { meta: { b: 2 } });
  const { text } = result.content[0] as { text: string };
  const said = JSON.parse(text) as { request: object; client: object; meta: object };
  expect(said.request).toEqual({
    name: "all",
    ...delivery,
    isBase64: false,
    receivedAt: "1970-01-01T00:00:00.000Z",
  });
  expect(said.client).toMatchObject({ principal: expect.stringMatching(/^servlet:hooks-/) });
  expect(said.meta).toEqual({ b: 2 });
  expect((await servlet.receiveWebhook("nothing")).result).toEqual({ content: [] });
  expect((await servlet.receiveWebhook("later")).result).toMatchObject({
    structuredContent: { a: 1 },
  });
  const bad = await servlet.receiveWebhook("bad");
  expect(bad.result).toMatchObject({ isError: true, content: [{ text: "It fails." }] });
  expect(bad.logs.join()).toContain("It fails.");
  await expect(servlet.receiveWebhook("other")).rejects.toThrow('There is no webhook "other".');
  await expect(servlet.receiveWebhook("constructor")).rejects.toThrow(/There is no webhook/);
});

test("a servlet may have webhooks alone, and may wait in them", async () => {
  const folder = await folderOf(
    servletWith(`{ a: { verify: { type: "github", secret: "S" }, receive: () => "b" } }`),
  );
  const [member] = await makeBundle({
    folders: [folder],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
  expect(member!.found.manifest.webhooks).toEqual({
    a: { verify: { type: "github", secret: "S" } },
  });
  expect(member!.neverWaits).toBe(false);
  expect(member!.warnings.join()).not.toContain("offers nothing");
});

test.each([
  [
    "without a function",
    `{ a: { verify: { type: "none" } } as any }`,
    /needs a function `receive`/,
  ],
  ["without verification", `{ a: { receive: () => "" } as any }`, /how deliveries are verified/],
  [
    "with an odd name",
    `{ "A b": { verify: { type: "none" }, receive: () => "" } }`,
    /small letters/,
  ],
])("a webhook %s is refused when the servlet is built", async (_name, webhooks, message) => {
  await expect(loadServlet(await folderOf(servletWith(webhooks)))).rejects.toThrow(message);
});

test("a webhook that servlet.json has as well is refused", async () => {
  const folder = await folderOf(
    servletWith(`{ a: { verify: { type: "none" }, receive: () => "b" } }`),
  );
  const manifest = { webhooks: { a: { verify: { type: "none" } } } };
  await writeFile(join(folder, "servlet.json"), JSON.stringify(manifest));
  await expect(loadServlet(folder)).rejects.toThrow("has the webhook a as well");
});
