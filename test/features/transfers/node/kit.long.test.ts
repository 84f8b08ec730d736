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
    write_odd_piece: {
      description: "Writes a file of which a piece is of another type",
      async handler(_: {}, context) {
        async function* pieces() {
          yield new ArrayBuffer(3) as never;
        }
        return [await context.file(pieces(), { name: "odd.bin" })];
      },
    },
    need_proto: {
      description: "Needs a file of an odd name",
      input: { type: "object", properties: { ["__proto__"]: file({ ask: "Which?" }) } } as never,
      handler: (args: Record<string, unknown>) => String(Object.keys(args)),
    },
    pieces: {
      description: "Writes a file in pieces",
      async handler({ pieces }: { pieces: number[] }, context) {
        async function* numbers() {
          for (const [at, length] of pieces.entries()) yield at === 0 ? "ü".repeat(length) : new Uint8Array(length).fill(at);
        }
        return [await context.file(numbers(), { name: "n.bin" })];
      },
    },
    need: {
      description: "Needs a file",
      input: z.object({ table: z.string().check(z.meta(file({ accept: [".csv"], mostBytes: 10, ask: "Which?" }))), more: z.optional(z.string()) }),
      async handler({ table, more = "" }, context) {
        return \`\${more}\${await (await context.open(table)).text()}\`;
      },
    },
    need_plainly: {
      description: "Needs two files",
      input: { type: "object", properties: { one: file({ ask: "One?" }), two: file({ ask: "Two?" }), three: { type: "string" } }, required: ["one", "two", "three"] },
      handler: ({ one, two, three }) => [one, two, three].join(),
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


@tool
async def write_odd_piece(ctx: Context) -> list:
    "Writes a file of which a piece is of another type"
    return [await ctx.file([{}, 3], name="odd.bin")]


@tool
async def pieces(ctx: Context, pieces: list[int]) -> list:
    "Writes a file in pieces"
    async def numbers():
        for at, length in enumerate(pieces):
            yield "ü" * length if at == 0 else bytes([at]) * length
    return [await ctx.file(numbers(), name="n.bin")]


@tool
async def need(ctx: Context, table: Annotated[str, file(accept=[".csv"], most_bytes=10, ask="Which?")], more: str = "") -> str:
    "Needs a file"
    return more + await (await ctx.open(table)).text()


@tool
def need_plainly(one: Annotated[str, file(ask="One?")], two: Annotated[str, file(ask="Two?")], three: str) -> str:
    "Needs two files"
    return ",".join([one, two, three])
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

  test.each([
    [[]],
    [[0]],
    [[1, 524_286]],
    [[262_144, 524_288, 3]],
    [[5, ...Array<number>(200).fill(6000)]],
  ])("writes pieces (%#), as many bytes at once as the host takes", async (pieces) => {
    const servlet = await loaded(file, text);
    const { hostFunctions, written } = hostWith(bytes);
    await servlet.callTool("pieces", { pieces }, { hostFunctions });
    const all = pieces.map((length, at) =>
      at === 0 ? Buffer.from("ü".repeat(length)) : Buffer.alloc(length, at),
    );
    expect(Buffer.concat(written.map((one) => one.bytes)).equals(Buffer.concat(all))).toBe(true);
    expect(written.map(({ payload }) => payload.isLast)).toEqual(
      written.map((_, at) => at === written.length - 1),
    );
    let start = 0;
    for (const { payload, bytes: some } of written) {
      expect([payload.start, payload.mimeType]).toEqual([start, "application/octet-stream"]);
      start += some.length;
    }
    expect(written.length).toBeLessThanOrEqual(1 + Math.ceil(start / 524_288));
  });

  test("has the user asked for files that are missing, once for each", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions } = hostWith(Buffer.from("a,b"));
    const asked: any[] = [];
    const all = {
      ...hostFunctions,
      "transfers.ask": (payload: any) => {
        asked.push(payload);
        return { uri: `stored-file://${asked.length}`, url: "https://a.example/files/in/x" };
      },
      "transfers.arrived": () => true,
    };
    const called = async (name: string, args: Record<string, unknown>, ...actions: string[]) => {
      asked.length = 0;
      const answers = { "elicitation/create": actions.map((action) => ({ action })) } as never;
      const { result } = await servlet.callTool(name, args, { hostFunctions: all, answers });
      const { text: said } = result.content[0] as { text: string };
      return [said, asked.map(({ message }) => message), result.isError ?? false];
    };
    expect(await called("need", { more: "got " }, "accept")).toEqual([
      "got a,b",
      ["Which?"],
      false,
    ]);
    expect(asked).toEqual([{ message: "Which?", accept: [".csv"], mostBytes: 10 }]);
    expect(await called("need", { table: "data:,x" })).toEqual(["x", [], false]);
    const [why, , isError] = await called("need", {}, "decline");
    expect([why, isError]).toEqual([expect.stringMatching(/sends no file/), true]);
    expect(await called("need_plainly", { three: "3" }, "accept", "accept")).toEqual([
      "stored-file://1,stored-file://2,3",
      ["One?", "Two?"],
      false,
    ]);
    expect(await called("need_plainly", { one: "1", three: "3" }, "accept")).toEqual([
      "1,stored-file://1,3",
      ["Two?"],
      false,
    ]);
  });

  test("says that the file is to be passed if its client cannot ask for it", async () => {
    const servlet = await loaded(file, text);
    const hostFunctions = {
      "transfers.ask": () => ({ uri: "stored-file://1", url: "https://a.example/files/in/x" }),
    };
    const requiredCapabilities = { elicitation: { url: {} } };
    const failed = { failed: "cannot-ask", requiredCapabilities };
    const answers = { "elicitation/create": [failed] } as never;
    for (const name of ["need", "need_plainly"]) {
      const args = name === "need" ? {} : { three: "3" };
      const { result, logs } = await servlet.callTool(name, args, { hostFunctions, answers });
      expect(logs.join()).not.toContain("never awaited");
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/cannot ask the user for it. Pass it/) }],
      });
    }
  });

  test("refuses a piece that is neither text nor bytes", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions } = hostWith(bytes);
    const { result } = await servlet.callTool("write_odd_piece", {}, { hostFunctions });
    expect(result.isError).toBe(true);
  });

  test("takes a file that is in the argument itself", async () => {
    const servlet = await loaded(file, text);
    const { hostFunctions, written } = hostWith(bytes);
    const of = "data:text/csv;name=a%20b.csv;base64,YSxiLGM=";
    await servlet.callTool("copy", { of }, { hostFunctions });
    expect(written).toMatchObject([{ payload: { name: "a b.csv of 5", mimeType: "text/csv" } }]);
    expect(written[0]!.bytes.toString()).toBe("a,b,c");
    written.length = 0;
    for (const other of ["data:;BASE64,YSxiLGM", "data:;base64,YSxiL%47M%3D", "data:,a%2Cb,c"])
      await servlet.callTool("copy", { of: other }, { hostFunctions });
    expect(written.map((one) => one.bytes.toString())).toEqual(["a,b,c", "a,b,c", "a,b,c"]);
    const bad = await servlet.callTool("copy", { of: "data:;base64,a" }, { hostFunctions });
    expect(bad.result.content[0]).toMatchObject({
      text: expect.stringMatching(/open\(\): .*not whole/),
    });
  });

  test("marks the argument, and its manifest says that it takes files", async () => {
    const [member] = await bundle({ [`a/${file}`]: text });
    expect(member!.found.manifest.files).toEqual({});
    const { tools } = member!.lists!;
    const [copy] = tools;
    const required = (name: string) => tools.find((one) => one.name === name)!.inputSchema.required;
    expect([required("need") ?? [], required("need_plainly")]).toEqual([[], ["three"]]);
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

test("a file that is asked for may be an argument named `__proto__`", async () => {
  const servlet = await loaded("servlet.ts", TYPESCRIPT);
  const hostFunctions = {
    "transfers.ask": () => ({ uri: "stored-file://1", url: "https://a.example/files/in/x" }),
    "transfers.arrived": () => true,
  };
  const answers = { "elicitation/create": [{ action: "accept" }] } as never;
  const { result } = await servlet.callTool("need_proto", {}, { hostFunctions, answers });
  expect(result.content).toEqual([{ type: "text", text: "__proto__" }]);
});
