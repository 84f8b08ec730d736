import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { bundling } from "../../../node/bundle/bundling.ts";

/** Events in the kits, and in the manifest that they are a part of. */
const { bundle } = bundling();

const TYPESCRIPT = `import { defineServlet } from "edge-servlets/servlet";
import * as z from "zod/mini";

export default defineServlet({
  events: {
    "issue.opened": {
      description: "An issue was opened",
      input: z.object({ repository: z.optional(z.string()) }),
      payload: z.object({ repository: z.string(), title: z.string() }),
    },
    news: { description: "News", payload: { type: "object" }, to: "everyone" },
  },
  tools: {
    open: {
      description: "Opens an issue",
      input: z.object({ id: z.optional(z.string()) }),
      async handler({ id }, { emit }) {
        const data = { repository: "a/b", title: "It breaks" };
        const opened = await emit("issue.opened", data, id === undefined ? {} : { id });
        await emit("news", {}, { to: "everyone" });
        return opened.id;
      },
    },
  },
});
`;

const PYTHON = `from typing import NotRequired, TypedDict

from edge_servlets import Context, event, tool


class Filter(TypedDict):
    repository: NotRequired[str]


class Opened(TypedDict):
    repository: str
    title: str


opened = event("issue.opened", "An issue was opened", input=Filter, payload=Opened)
event("news", "News", payload={"type": "object"}, to="everyone")


@tool
async def open(ctx: Context, id: str | None = None) -> str:
    "Opens an issue"
    given = await ctx.emit(opened, Opened(repository="a/b", title="It breaks"), id=id)
    await ctx.emit("news", {}, to="everyone")
    return given
`;

const opened = { repository: "a/b", title: "It breaks" };

async function loaded(file: string, text: string) {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "events-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, file), text);
  return loadServlet(folder);
}

describe.each([
  ["TypeScript", "servlet.ts", TYPESCRIPT],
  ["Python", "servlet.py", PYTHON],
])("a servlet in %s", (_language, file, text) => {
  test("emits by the host function of the feature, with an id that each run repeats", async () => {
    const servlet = await loaded(file, text);
    const emitted: unknown[] = [];
    const hostFunctions = {
      "events.emit": (payload: unknown) => {
        emitted.push(payload);
        return {};
      },
    };
    const textOf = async (args: object, more: object = {}) => {
      const { result } = await servlet.callTool("open", args as never, { hostFunctions, ...more });
      expect(result.isError).not.toBe(true);
      return (result.content[0] as { text: string }).text;
    };
    expect(await textOf({ id: "issue-7" })).toBe("issue-7");
    expect(emitted).toEqual([
      { name: "issue.opened", data: opened, id: "issue-7" },
      { name: "news", data: {}, id: expect.any(String), to: "everyone" },
    ]);
    emitted.length = 0;
    const id = await textOf({});
    expect(id).toMatch(/^[0-9a-f-]{32,36}$/);
    expect(emitted[0]).toMatchObject({ id });
    emitted.length = 0;
    const again = await textOf({}, { alwaysReplay: true });
    expect(emitted).toMatchObject([{ id: again }, { name: "news" }]);
  });

  test("is told what the server says against an event", async () => {
    const servlet = await loaded(file, text);
    const { result } = await servlet.callTool("open", {}, {});
    expect(result.isError).toBe(true);
    expect(result.content[0]).toMatchObject({
      text: expect.stringMatching(/emit\(\): There is no host function events\.emit/),
    });
  });

  test("says in its manifest which events it emits, beside those of servlet.json", async () => {
    const other = { description: "Another", payload: { type: "object" } };
    const [member] = await bundle({
      [`a/${file}`]: text,
      "a/servlet.json": JSON.stringify({ events: { other } }),
    });
    const { events } = member!.found.manifest;
    expect(Object.keys(events!)).toEqual(["other", "issue.opened", "news"]);
    expect(events!["news"]).toEqual({
      description: "News",
      payload: { type: "object" },
      to: "everyone",
    });
    expect(events!["issue.opened"]).toMatchObject({
      description: "An issue was opened",
      input: { type: "object", properties: { repository: { type: "string" } } },
      payload: { type: "object", required: ["repository", "title"] },
    });
    expect(member!.neverWaits).toBe(false);
  });

  test("may not define an event twice", async () => {
    const news = { description: "Other news", payload: { type: "object" } };
    const files = { [`a/${file}`]: text, "a/servlet.json": JSON.stringify({ events: { news } }) };
    await expect(bundle(files)).rejects.toThrow(
      "servlet.json has the event news as well: leave it out there",
    );
  });
});

describe("a manifest is refused", () => {
  const payload = { type: "object" };
  test.each<[what: string, events: object, message: RegExp]>([
    [
      "with a name that has a space",
      { "a b": { description: "x", payload } },
      /events.*letters, digits/,
    ],
    [
      "with a name that is too long",
      { ["a".repeat(65)]: { description: "x", payload } },
      /at most 64/,
    ],
    ["without a payload", { a: { description: "x" } }, /events\.a\.payload/],
    ["without a description", { a: { payload } }, /events\.a\.description/],
    [
      "with a payload that is no object",
      { a: { description: "x", payload: { type: "string" } } },
      /"type": "object"/,
    ],
    [
      "with a payload that is no schema",
      { a: { description: "x", payload: { type: "object", properties: 7 } } },
      /payload.*cannot be used/,
    ],
    [
      "with an input that is no schema",
      { a: { description: "x", payload, input: { type: "object", required: "a" } } },
      /input.*cannot be used/,
    ],
    ["with an event to somebody", { a: { description: "x", payload, to: "ada" } }, /events\.a\.to/],
    [
      "with too many events",
      Object.fromEntries(
        Array.from({ length: 101 }, (_, nth) => [`e${nth}`, { description: "x", payload }]),
      ),
      /too many events \(limit 100\)/,
    ],
  ])("%s", async (_what, events, message) => {
    const files = { "a/servlet.ts": TYPESCRIPT.replace(/ {2}events: \{[^]*?\n {2}\},\n/, "") };
    await expect(
      bundle({ ...files, "a/servlet.json": JSON.stringify({ events }) }),
    ).rejects.toThrow(message);
  });
});

test("a schema that describes no object is refused where the servlet is built", async () => {
  const files = {
    "a/servlet.ts": TYPESCRIPT.replace('payload: { type: "object" }', "payload: z.string()"),
  };
  await expect(bundle(files)).rejects.toThrow(
    'The payload of the event "news" does not describe an object',
  );
});
