import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";
import { bundling } from "../../../node/bundle/bundling.ts";

/** Files in the kits, and in the manifest that they are a part of. */
const { bundle } = bundling();

const TYPESCRIPT = `import { defineServlet, file } from "edge-servlets/servlet";
import * as z from "zod/mini";

export default defineServlet({
  tools: {
    copy: {
      description: "Copies a file",
      input: z.object({ of: z.string().check(z.meta(file({ accept: ["text/*"], mostBytes: 9e6, description: "Which." }))) }),
      async handler({ of }, { open, file: store }) {
        const given = await open(of);
        let size = 0;
        for await (const part of given.parts()) size += part.length;
        const tail = new TextDecoder().decode(await given.bytes(size - 3));
        return [await store(await given.bytes(), { name: \`\${given.name} of \${size}\`, mimeType: given.mimeType }), tail];
      },
    },
    ask: {
      description: "Asks for a file",
      async handler(_: {}, context) {
        const given = await context.askFile({ message: "Which?", accept: [".csv"], mostBytes: 10 });
        return given === undefined ? "none" : given.text();
      },
    },
    write: {
      description: "Writes a text",
      handler: async (_: {}, context) => [await context.file("ü", { name: "a.txt" })],
    },
  },
});
`;

const PYTHON = `from typing import Annotated

from edge_servlets import Context, file, tool


@tool
async def copy(ctx: Context, of: Annotated[str, file(accept=["text/*"], most_bytes=9_000_000, description="Which.")]) -> list:
    "Copies a file"
    given = await ctx.open(of)
    size = 0
    async for part in given.parts():
        size += len(part)
    tail = (await given.bytes(size - 3)).decode()
    link = await ctx.file(await given.bytes(), name=f"{given.name} of {size}", mime_type=given.mime_type)
    return [link, tail]


@tool
async def ask(ctx: Context) -> str:
    "Asks for a file"
    given = await ctx.ask_file("Which?", accept=[".csv"], most_bytes=10)
    return "none" if given is None else await given.text()


@tool
async def write(ctx: Context) -> list:
    "Writes a text"
    return [await ctx.file("ü", name="a.txt")]
`;

async function loaded(file: string, text: string) {
  await mkdir(".bundle", { recursive: true });
  const folder = await mkdtemp(join(".bundle", "transfers-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, file), text);
  return loadServlet(folder);
}

const bytes = Buffer.alloc(1_200_000, "0123456789");

/** Host functions of one file, and what was written. */
function hostWith(given: Buffer) {
  const written: { payload: any; bytes: Buffer }[] = [];
  const hostFunctions = {
    "transfers.open": () => ({
      id: "x",
      name: "a.txt",
      mimeType: "text/plain",
      size: given.length,
    }),
    "transfers.read": (payload: any) =>
      given.subarray(payload.start, payload.start + payload.length).toString("base64"),
    "transfers.write": (payload: any) => {
      written.push({ payload, bytes: Buffer.from(payload.bytes, "base64") });
      const { name } = payload;
      return payload.isLast
        ? { type: "resource_link", uri: "https://a.example/1", name }
        : { id: "id" };
    },
  };
  return { hostFunctions, written };
}

describe.each([
  ["TypeScript", "servlet.ts", TYPESCRIPT],
  ["Python", "servlet.py", PYTHON],
])("a servlet in %s", (_language, file, text) => {
  test("reads and writes files in parts, by the host functions of the feature", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions, written } = hostWith(bytes);
    for (const options of [{}, { alwaysReplay: true }]) {
      written.length = 0;
      const args = { of: "stored-file://AAAAAAAAAAAAAAAAAAAAAA" };
      const { result } = await servlet.callTool("copy", args, { hostFunctions, ...options });
      expect(result.content).toEqual([
        { type: "resource_link", uri: "https://a.example/1", name: "a.txt of 1200000" },
        { type: "text", text: "789" },
      ]);
      expect(written.map(({ payload }) => ({ ...payload, bytes: undefined }))).toEqual([
        { name: "a.txt of 1200000", mimeType: "text/plain", start: 0, isLast: false },
        {
          id: "id",
          name: "a.txt of 1200000",
          mimeType: "text/plain",
          start: 524_288,
          isLast: false,
        },
        {
          id: "id",
          name: "a.txt of 1200000",
          mimeType: "text/plain",
          start: 1_048_576,
          isLast: true,
        },
      ]);
      expect(Buffer.concat(written.map((one) => one.bytes)).equals(bytes)).toBe(true);
    }
  });

  test("writes a text as UTF-8", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions, written } = hostWith(bytes);
    await servlet.callTool("write", {}, { hostFunctions });
    expect(written).toMatchObject([
      { payload: { mimeType: "text/plain; charset=utf-8", start: 0, isLast: true } },
    ]);
    expect(written[0]!.bytes.toString()).toBe("ü");
  });

  test("asks for a file, and waits until it is there", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions } = hostWith(Buffer.from("a,b"));
    const asked: unknown[] = [];
    let looks = 0;
    const uri = "stored-file://AAAAAAAAAAAAAAAAAAAAAA";
    const all = {
      ...hostFunctions,
      "transfers.ask": (payload: unknown) => {
        asked.push(payload);
        return { uri, url: "https://a.example/files/in/x" };
      },
      "transfers.arrived": () => ++looks % 3 === 0,
    };
    const ask = async (action: string) => {
      const script = {
        hostFunctions: all,
        answers: { "elicitation/create": [{ action }] } as never,
      };
      const { result, ...more } = await servlet.callTool("ask", {}, script);
      return [(result.content[0] as { text: string }).text, more.asked] as const;
    };
    const [given, asks] = await ask("accept");
    expect([given, looks, asked]).toEqual([
      "a,b",
      3,
      [{ message: "Which?", accept: [".csv"], mostBytes: 10 }],
    ]);
    expect(asks).toMatchObject([
      {
        params: {
          mode: "url",
          message: "Which?",
          url: "https://a.example/files/in/x",
          elicitationId: uri,
        },
      },
    ]);
    expect((await ask("decline"))[0]).toBe("none");
  });

  test("takes a file that is in the argument itself", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions, written } = hostWith(bytes);
    const of = "data:text/csv;name=a%20b.csv;base64,YSxiLGM=";
    await servlet.callTool("copy", { of }, { hostFunctions });
    expect(written).toMatchObject([{ payload: { name: "a b.csv of 5", mimeType: "text/csv" } }]);
    expect(written[0]!.bytes.toString()).toBe("a,b,c");
    const bad = await servlet.callTool("copy", { of: "data:;base64,a" }, { hostFunctions });
    expect(bad.result.content[0]).toMatchObject({
      text: expect.stringMatching(/open\(\): .*not whole/),
    });
  });

  test("marks the argument, and its manifest says that it takes files", async () => {
    const [member] = await bundle({ [`a/${file}`]: text });
    expect(member!.found.manifest.files).toEqual({});
    const [copy] = member!.lists!.tools;
    const schema = copy!.inputSchema.properties as Record<string, object>;
    expect(schema["of"]).toMatchObject({
      type: "string",
      description: "Which.",
      "x-edge-file": { accept: ["text/*"], mostBytes: 9_000_000 },
    });
  });
});

test("files of defineServlet and of servlet.json are one, and servlet.json is right", async () => {
  const spec = `{ files: { resultsOver: 5000 }, tools: { a: { description: "a", handler: () => "a" } } }`;
  const text = `import { defineServlet } from "edge-servlets/servlet";\nexport default defineServlet(${spec});`;
  const [own] = await bundle({ "a/servlet.ts": text });
  expect(own!.found.manifest.files).toEqual({ resultsOver: 5000 });
  const [other] = await bundle({
    "a/servlet.ts": text,
    "a/servlet.json": JSON.stringify({ files: { resultsOver: 9000 } }),
  });
  expect(other!.found.manifest.files).toEqual({ resultsOver: 9000 });
  await expect(bundle({ "b/servlet.ts": text.replace("5000", "999") })).rejects.toThrow(
    /files\.resultsOver/,
  );
});
