/** A component as a servlet: the one in test/node/components/shapes, which Rust has made. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { componentTools } from "../../../../src/tools/bundle/component/tools.ts";
import { leb, text } from "../../../../src/tools/bundle/wasm/bytes.ts";
import {
  loadServlet,
  type Script,
  type ServletUnderTest,
} from "../../../../src/tools/testing/index.ts";
import { inResult, loaded, newFolder } from "./loaded.ts";

const COMPONENT = "test/node/components/shapes/shapes.wasm";

let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loaded("shapes/shapes", {
    allowed_hosts: ["api.test"],
    env_vars: { GREETING: "hello", TOKEN: "${TOKEN:-}" },
    memory_limit: "8Mi",
    compute_limit: 0.05,
  });
});

/** The value of a call that succeeds. */
async function valueOf(tool: string, args: object = {}, script: Script = {}): Promise<unknown> {
  const { result } = await servlet.callTool(tool, { ...args }, script);
  if (result.isError === true) throw new Error(JSON.stringify(result.content));
  return inResult(result);
}

/** The text of a call that fails. */
async function failureOf(tool: string, args: object = {}, script: Script = {}): Promise<string> {
  const { result } = await servlet.callTool(tool, { ...args }, script);
  expect(result.isError).toBe(true);
  return JSON.stringify(result.content);
}

const OF = "test_shapes_shapes_";

describe("values", () => {
  test("a tool has the name that wassette gives it, and a schema from its types", async () => {
    const { tools } = await servlet.list();
    expect(tools.map(({ name }) => name)).toContain("variable");
    const tool = tools.find(({ name }) => name === `${OF}describe`)!;
    expect(tool.inputSchema).toEqual({
      type: "object",
      properties: {
        s: { type: "string" },
        l: { type: "array", items: { type: "integer", minimum: 0, maximum: 4294967295 } },
        o: { anyOf: [{ type: "null" }, { type: "string" }] },
        sh: {
          oneOf: [
            variant("circle", { type: "number" }),
            variant("square", {
              type: "object",
              properties: { x: { type: "number" }, y: { type: "number" } },
              required: ["x", "y"],
              additionalProperties: false,
            }),
            variant("none"),
          ],
        },
        c: { type: "string", enum: ["red", "green", "blue"] },
        p: {
          type: "array",
          items: { type: "string", enum: ["read", "write", "exec"] },
          uniqueItems: true,
        },
        t: {
          type: "array",
          prefixItems: [
            { type: "integer", minimum: -128, maximum: 127 },
            {
              anyOf: [
                { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
                { type: "string", pattern: "^[0-9]{1,20}$" },
              ],
            },
          ],
          items: {},
          minItems: 2,
          maxItems: 2,
        },
        ch: { type: "string", minLength: 1, maxLength: 1 },
        b: { type: "boolean" },
      },
      required: ["s", "l", "sh", "c", "p", "t", "ch", "b"],
      additionalProperties: false,
    });
    expect(tools.find(({ name }) => name === `${OF}divide`)!.outputSchema).toMatchObject({
      properties: { result: { type: "integer" } },
    });
    expect(tools.find(({ name }) => name === `${OF}nothing`)!.outputSchema).toBeUndefined();
  });

  const variant = (tag: string, val?: object) => ({
    type: "object",
    properties: { tag: { const: tag }, ...(val && { val }) },
    required: val === undefined ? ["tag"] : ["tag", "val"],
    additionalProperties: false,
  });

  test("arguments of every type arrive, whatever the order of their members", async () => {
    const args = {
      b: true,
      ch: "😀",
      t: [-128, "18446744073709551615"],
      p: ["exec", "read"],
      c: "blue",
      sh: { val: { y: 2, x: -0.5 }, tag: "square" },
      l: [1, 4294967295],
      s: 'Zürich "\\\n\u0001 \ud83d\ude00 \ud83d',
    };
    expect(await valueOf(`${OF}describe`, args)).toBe(
      'Zürich "\\\n\u0001 😀 \ufffd [1, 4294967295] None Shape::Square(Point { x: -0.5, y: 2.0 }) blue 101 (-128, 18446744073709551615) 😀 true',
    );
    const other = { ...args, o: "yes", sh: { tag: "none" }, l: [], ch: '"' };
    expect(await valueOf(`${OF}describe`, other)).toContain('[] Some("yes") Shape::None blue');
  });

  test("more than sixteen core values are passed in memory", async () => {
    const args = {
      a: [0, 255],
      b: "b",
      c: [1, 2, 3, "4"],
      d: ["x", ""],
      e: [-1, 2, 3, 4, 5, 6, -32768],
    };
    expect(await valueOf(`${OF}wide`, args)).toBe(
      '[0, 255] b (1, 2, 3, 4) ["x", ""] (-1, 2, 3, 4, 5, 6, -32768)',
    );
  });

  test.each([
    ["turn", { p: { x: 1.5, y: -0.1 } }, { x: -0.1, y: 1.5 }],
    [
      "reverse",
      { l: [{ tag: "none" }, { tag: "circle", val: 2.5 }] },
      [{ tag: "circle", val: 2.5 }, { tag: "none" }],
    ],
    ["nested", { r: { ok: [1, 2, 255] } }, [1, 2, 255]],
    ["maybe", {}, null],
    ["maybe", { a: 5 }, 5],
    ["invert", { p: ["write"] }, ["read", "exec"]],
    ["divide", { a: 7, b: 2 }, 3],
  ])("%s of %j is %j", async (tool, args, value) => {
    expect(await valueOf(OF + tool, args)).toEqual(value);
  });

  test.each([
    [["18446744073709551615", "-9223372036854775808", 0.1]],
    [[9007199254740991, -9007199254740991, 3.4028234663852886e38]],
    [["9007199254740992", "9223372036854775807", 1.401298464324817e-45]],
    [[0, 0, 16777216]],
  ])("numbers of 64 bits and 32 bits come back: %j", async ([n, m, f]) => {
    expect(await valueOf(`${OF}same`, { n, m, f })).toEqual([n, m, f]);
  });

  test("every double comes back as it was sent", async () => {
    const numbers = [
      0,
      1,
      -1,
      0.1,
      0.30000000000000004,
      1e21,
      1e22,
      1e23,
      123456789012345680000,
      5e-324,
      Number.MAX_VALUE,
      Number.MIN_VALUE,
      2.2250738585072014e-308,
      2.225073858507201e-308,
      9007199254740992,
      8.988465674311579e307,
      4.35,
      1 / 3,
      2 ** -1022,
      1.7e-300,
    ];
    let seed = 7n;
    const bits = new DataView(new ArrayBuffer(8));
    for (let n = 0; n < 300; n++) {
      seed = (seed * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
      bits.setBigUint64(0, seed ^ (seed >> 29n));
      if (Number.isFinite(bits.getFloat64(0))) numbers.push(bits.getFloat64(0));
    }
    for (let at = 0; at + 1 < numbers.length; at += 20) {
      const sent = numbers.slice(at, at + 20).map((val) => ({ tag: "circle", val }));
      expect(await valueOf(`${OF}reverse`, { l: sent })).toEqual(sent.toReversed());
    }
  });

  test("an error of a result is a tool error, with its text", async () => {
    expect(await failureOf(`${OF}divide`, { a: 1, b: 0 })).toContain("divided by zero");
    expect(await failureOf(`${OF}nested`, { r: { err: "green" } })).toContain("green");
  });

  test("a function without a result gives nothing", async () => {
    expect((await servlet.callTool(`${OF}nothing`)).result).toEqual({ content: [] });
  });

  test.each([
    ["18446744073709551616", 0],
    [0, "-9223372036854775809"],
  ])("an integer beyond its 64 bits ends the call: %s, %s", async (n, m) => {
    expect(await failureOf(`${OF}same`, { n, m, f: 0 })).toContain("crashed");
  });

  test("arguments that do not fit are refused before the component is called", async () => {
    for (const args of [{ a: -1, b: 2 }, { a: 1, b: 2, c: 3 }, { a: 1 }])
      expect(await failureOf(`${OF}divide`, args)).toContain("do not match the input schema");
  });
});

describe("the world", () => {
  test("its environment has the variables of the manifest that are set", async () => {
    expect(await valueOf("variable", { name: "GREETING" })).toBe("hello");
    expect(await valueOf("variable", { name: "TOKEN" })).toBe(null);
    const variables = { TOKEN: "s3cret", PATH: "/bin" };
    expect(await valueOf("variable", { name: "TOKEN" }, { variables })).toBe("s3cret");
    expect(await valueOf("variable", { name: "PATH" }, { variables })).toBe(null);
  });

  test("its clock is the host's, and sleeping waits", async () => {
    expect(await valueOf("now", {}, { now: 1234 })).toBe(1234);
    expect(await valueOf("sleep", { ms: 60_000 }, { now: 1000 })).toBe(61_000);
  });

  test("random numbers differ from call to call", async () => {
    expect(await valueOf("roll")).not.toBe(await valueOf("roll"));
  });

  test("each call has an instance of its own", async () => {
    expect([await valueOf("count"), await valueOf("count")]).toEqual([1, 1]);
  });

  const fetch = async (request: Request) =>
    new Response(
      `${request.method} ${request.url} ${request.headers.get("x-one")} ${request.headers.get("cookie")} ${await request.text()}`,
      { status: 201, headers: { "content-type": "text/plain" } },
    );

  test("a request goes to an allowed host, with its headers and body", async () => {
    const args = { host: "api.test", path: "/a?b=1", body: "x".repeat(5) };
    expect(await valueOf("fetch", args, { fetch })).toBe(
      '201 Some("text/plain") POST https://api.test/a?b=1 1, 2 a=1; b=2 xxxxx',
    );
    expect(await valueOf("fetch", { ...args, body: "" }, { fetch })).toContain(
      "GET https://api.test/a?b=1 1, 2",
    );
  });

  test("a path that would go on with the host's name is refused", async () => {
    const args = { host: "api", path: ".test/", body: "" };
    expect(await failureOf("fetch", args, { fetch })).toContain("crashed");
    const query = { host: "api.test", path: "?b=1", body: "" };
    expect(await valueOf("fetch", query, { fetch })).toContain("GET https://api.test/?b=1");
  });

  test("a request to a host that is not allowed fails with the reason", async () => {
    const why = await failureOf("fetch", { host: "evil.test", path: "/", body: "" }, { fetch });
    expect(why).toContain("InternalError");
    expect(why).toContain("evil.test");
  });

  test("a call that waits and asks the network goes on after a crash at every step", async () => {
    let sent = 0;
    const counted = async (request: Request) => {
      sent++;
      return fetch(request);
    };
    const script = { fetch: counted, alwaysReplay: true };
    const args = { host: "api.test", path: "/", body: "" };
    expect(await valueOf("fetch", args, script)).toContain("GET https://api.test/");
    expect(sent).toBe(1);
    expect(await valueOf("sleep", { ms: 5000 }, { alwaysReplay: true })).toBe(5000);
  });
});

describe("bounds", () => {
  test("one that computes for ever is stopped by its fuel", async () => {
    expect(await failureOf("spin")).toContain("computed for too long");
  });

  test("one that takes more memory than its limit ends", async () => {
    expect(await failureOf("repeat", { text: "x", times: 20_000_000 })).toContain("crashed");
  });

  test("a result that is longer than a result may be is refused", async () => {
    const large = await loaded("shapes/shapes", { memory_limit: "64Mi" });
    const { result } = await large.callTool("repeat", { text: "x", times: 12_000_000 });
    expect(result.isError).toBe(true);
  });
});

describe("folders and state", () => {
  let stateful: ServletUnderTest;
  beforeAll(async () => {
    stateful = await loaded("shapes/shapes", {
      state: "caller",
      allowed_paths: ["data", "ro:fixed"],
    });
  });

  test("files are kept in the folders of the manifest, and nowhere else", async () => {
    const save = async (path: string) =>
      (await stateful.callTool("save", { path, text: "hello" }, { caller: "ada" })).result;
    expect((await save("/data/a")).structuredContent).toEqual({ result: ["hello", '"a" 5'] });
    const second = await save("/data/b");
    expect(inResult(second)).toEqual(expect.arrayContaining(['"a" 5', '"b" 5']));
    for (const path of ["/etc/a", "/data/../../a", "/fixed/a"])
      expect((await save(path)).isError).toBe(true);
  });

  test("a large folder is listed whole, each name once", async () => {
    const files = Array.from({ length: 2000 }, (_, at) => [
      `/data/${"n".repeat(at % 200)}${at}`,
      "",
    ]);
    await stateful.writeFiles(Object.fromEntries(files), { caller: "eve" });
    const args = { path: "/data/one", text: "" };
    const { result } = await stateful.callTool("save", args, { caller: "eve" });
    // The first is what the file has.
    const [, ...listed] = inResult(result) as string[];
    const names = listed.map((one) => JSON.parse(one.replace(/ \d+$/, "")) as string);
    expect(names).toHaveLength(files.length + 1);
    expect(new Set(names)).toEqual(
      new Set([...files.map(([path]) => path!.slice("/data/".length)), "one"]),
    );
  });

  test("memory lasts from call to call of a caller", async () => {
    const count = async (caller: string) =>
      inResult((await stateful.callTool("count", {}, { caller })).result);
    expect([await count("bob"), await count("bob"), await count("eve")]).toEqual([1, 2, 1]);
  });
});

describe("memory of a component", () => {
  let low: ServletUnderTest;
  beforeAll(async () => {
    low = await loaded("low/low", { state: "caller", allowed_paths: ["data"] });
  });

  test("arguments and results that are core values leave it as it was", async () => {
    const { result } = await low.callTool("kept", { one: 1, other: "18446744073709551615" });
    expect(inResult(result)).toBe(true);
    expect(inResult((await low.callTool("kept", { one: 1, other: 2 })).result)).toBe(true);
  });

  test("a stream of an earlier call is not taken for one of this call", async () => {
    const held = async () => inResult((await low.callTool("held", {}, { caller: "mia" })).result);
    expect([await held(), await held()]).toEqual([0, 1]);
  });

  test("a stream that is left over does not keep its file open", async () => {
    const left = async () => inResult((await low.callTool("left", {}, { caller: "ida" })).result);
    expect(await left()).toBe(await left());
  });

  test("a resource that is made as it starts is there in its first call", async () => {
    const begun = async () => (await low.callTool("begun", {}, { caller: "max" })).result;
    expect(inResult(await begun())).toBe(false);
    expect((await begun()).isError).toBe(true);
  });

  test("zeros are written, and bytes passed over and on, without a place in it", async () => {
    const moved = async (length: number) =>
      inResult((await low.callTool("moved", { length })).result);
    // 100 are passed over, and at most 256 are passed on at once.
    expect(await moved(130)).toBe(130);
    expect(await moved(5000)).toBe(356);
  });

  test("it is asked for no block that it is not given, so that one with state does not fill up", async () => {
    const manifest = { state: "caller", allowed_paths: ["data"] };
    const counting = await loaded("low/blocks", manifest);
    const asked = async (tool: string, args: object) =>
      inResult((await counting.callTool(tool, { ...args })).result);
    const told = { text: "12345678", number: 1 };
    const first = (await asked("told", told)) as number;
    expect([await asked("told", told), await asked("told", told)]).toEqual([first + 8, first + 16]);
    expect(await asked("whole", { length: 70_000 })).toBe(70_000);
    expect(await asked("told", told)).toBe(first + 24 + 70_000);
  });

  test("one without variables reads its environment in a start whose memory all calls have", async () => {
    const blocks = await loaded("low/blocks", { start: "once" });
    const { result } = await blocks.callTool("told", { text: "1", number: 1 });
    expect(inResult(result)).toBeGreaterThan(0);
  });
});

describe("refusals", () => {
  const refusalOf = async (bytes: Uint8Array) => {
    const folder = await newFolder();
    await writeFile(join(folder, "odd.wasm"), bytes);
    await writeFile(join(folder, "servlet.json"), "{}");
    return loadServlet(folder).then(
      () => "",
      (error: Error) => error.message,
    );
  };

  /** The component with a text in it replaced by another of the same length. */
  const changed = async (from: string, to: string) => {
    const whole = (await readFile(COMPONENT)).toString("latin1");
    return Buffer.from(whole.replaceAll(from, to), "latin1");
  };

  test("an interface that is not offered is named", async () => {
    expect(
      await refusalOf(await changed("wasi:random/insecure-seed", "wasi:dreams/insecure-seed")),
    ).toMatch(/imports wasi:dreams\/insecure-seed@.*Build the component without it/);
  });

  const PREAMBLE = [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0];
  const section = (id: number, body: number[]) => [id, ...leb(body.length), ...body];

  test("threads and error contexts are named", async () => {
    const threads = Uint8Array.from([...PREAMBLE, ...section(8, [1, 0x26])]);
    expect(await refusalOf(threads)).toContain("uses threads or error contexts");
    const contexts = Uint8Array.from([...PREAMBLE, ...section(7, [1, 0x64])]);
    expect(await refusalOf(contexts)).toContain("uses threads or error contexts");
  });

  test("a component for a version before the release of WASI 0.3 is refused", async () => {
    const waits = (await readFile("test/node/components/low/waits.wasm")).toString("latin1");
    const older = waits.replaceAll("wasi:cli/stdin@0.3.2", "wasi:cli/stdin@0.3-x");
    expect(await refusalOf(Buffer.from(older, "latin1"))).toContain("not offered here");
    const early = waits.replaceAll("clock@0.3.2", "cloc@0.3.0-");
    expect(await refusalOf(Buffer.from(early, "latin1"))).toContain(
      "older than the release of WASI 0.3",
    );
  });

  test.each([0x72, 0x71, 0x6f, 0x6e, 0x6d])(
    "a type %i without members is refused",
    async (kind) => {
      const types = Uint8Array.from([...PREAMBLE, ...section(7, [1, kind, 0])]);
      expect(await refusalOf(types)).toContain("a type without members");
    },
  );

  test("a type that is made of itself again and again is refused", async () => {
    const pairs = Array.from({ length: 40 }, (_, at) => [0x6f, 2, at, at]);
    const types = section(7, [pairs.length + 1, 0x6f, 1, 0x7d, ...pairs.flat()]);
    expect(await refusalOf(Uint8Array.from([...PREAMBLE, ...types]))).toContain("too many parts");
  });

  test("a component of components of components is refused in time", async () => {
    let component = [...PREAMBLE];
    for (let level = 0; level < 40; level++)
      component = [...PREAMBLE, ...section(4, component), ...section(5, [2, 0, 0, 0, 0, 0, 0])];
    expect(await refusalOf(Uint8Array.from(component))).toContain("too large");
  });

  const component = (...sections: number[][]) => Uint8Array.from([...PREAMBLE, ...sections.flat()]);
  /** A component with so many instances of this one. */
  const instances = (inner: Uint8Array, count: number) =>
    component(
      section(4, [...inner]),
      section(5, [...leb(count), ...Array<number>(count * 3).fill(0)]),
    );
  const names = Array.from({ length: 10_000 }, (_, at) => text(`n${at}`));
  /** A function without parameters, imported, and an instance with it under many names. */
  const functions = [
    section(7, [1, 0x40, 0, 1, 0]),
    section(10, [1, 0, ...text("wasi:cli/one@0.2.0"), 1, 0]),
    section(5, [1, 1, ...leb(names.length), ...names.flatMap((one) => [0, ...one, 1, 0])]),
  ];
  const interfaceOfMany = section(7, [
    2,
    0x40,
    0,
    1,
    0,
    0x42,
    ...leb(names.length + 1),
    2,
    3,
    2,
    1,
    0,
    ...names.flatMap((one) => [4, 0, ...one, 1, 0]),
  ]);
  const times = (count: number, one: (at: number) => number[]) => [
    ...leb(count),
    ...Array.from({ length: count }, (_, at) => one(at)).flat(),
  ];

  test.each<[string, () => Uint8Array, string]>([
    [
      "instances of a component of many custom sections",
      () => instances(component(Array<number>(200_000).fill(0)), 20_000),
      "too large",
    ],
    [
      "instances of a component with an instance of many items",
      () => instances(component(...functions.slice(0, 1), ...functions.slice(2)), 20_000),
      "too large",
    ],
    [
      "an instance of many functions under many names",
      () =>
        component(
          ...functions,
          section(
            11,
            times(40_000, (at) => [0, ...text(`x${at}`), 5, 0, 0]),
          ),
        ),
      "too large",
    ],
    [
      "an interface of many functions under many names",
      () =>
        component(
          interfaceOfMany,
          section(
            10,
            times(40_000, (at) => [0, ...text(`x${at}`), 5, 1]),
          ),
        ),
      "too large",
    ],
    [
      "many instances of core modules",
      () =>
        component(
          section(1, [...PREAMBLE.slice(0, 4), 1, 0, 0, 0]),
          section(
            2,
            times(1000, () => [0, 0, 0]),
          ),
        ),
      "too large",
    ],
    [
      "lists in lists that claim to be long",
      () => component(section(7, [1, ...times(12, () => [0x42, ...leb(33_000_000), 1]).slice(1)])),
      "ends too early",
    ],
    [
      "components in components",
      () => {
        let inner: Uint8Array = component();
        const instance = Uint8Array.from(section(5, [1, 0, 0, 0]));
        for (let level = 0; level < 3000; level++)
          inner = Buffer.concat([
            Uint8Array.from([...PREAMBLE, 4, ...leb(inner.length)]),
            inner,
            instance,
          ]);
        return inner;
      },
      "nested too deeply",
    ],
    [
      "a name of a million characters",
      () =>
        component(
          section(7, [1, 0x40, 0, 1, 0]),
          section(10, [1, 0, ...text("x".repeat(1_000_000)), 1, 0]),
          section(11, [1, 0, ...text("x"), 1, 0, 0]),
        ),
      "component",
    ],
  ])("%s are refused, briefly", async (_name, bytes, why) => {
    const refusal = await refusalOf(bytes());
    expect(refusal).toContain(why);
    expect(refusal.length).toBeLessThan(2000);
  });

  test("types of many parts are refused, of one function and of all", async () => {
    const cases = (count: number) => [0x6d, ...times(count, (at) => text(`c${at}`))];
    const exported = (count: number, exports: number) =>
      component(
        section(7, [2, ...cases(count), 0x40, 1, ...text("a"), 0, 0, 0x7d]),
        section(10, [1, 0, ...text("wasi:cli/one@0.2.0"), 1, 1]),
        section(
          11,
          times(exports, (at) => [0, ...text(`f${at}`), 1, 0, 0]),
        ),
      );
    expect(await refusalOf(exported(3000, 1))).toContain("type of too many parts");
    expect(await refusalOf(exported(1000, 100))).toContain("too many parts together");
  });

  test("long names are refused, alone and together", async () => {
    const enumOf = (count: number, length: number) =>
      section(7, [1, 0x6d, ...times(count, (at) => text(`c${at}`.padEnd(length, "x")))]);
    expect(await refusalOf(component(enumOf(1, 30_000)))).toContain("a name of more than 300");
    expect(await refusalOf(component(enumOf(1000, 200)))).toContain("type of too many parts");
    const long = section(10, [1, 0, ...text(`wasi:cli/one@0.3.${"9".repeat(30_000)}`), 3, 1]);
    expect(await refusalOf(component(long))).toContain("a name of more than 300");
  });

  test("functions for results of many parts are refused", async () => {
    const count = 12;
    const core = [
      ...PREAMBLE.slice(0, 4),
      1,
      0,
      0,
      0,
      ...section(1, [1, 0x60, 1, 0x7f, 0]),
      ...section(
        2,
        times(count, (at) => [...text("h"), ...text(`n${at}`), 0, 0]),
      ),
      ...section(7, [1, ...text("f"), 0, 0]),
    ];
    const cases = [0x6d, ...times(1000, (at) => text(`c${at}`))];
    const bytes = component(
      section(1, core),
      section(7, [2, ...cases, 0x40, 1, ...text("a"), 0x79, 1, 0]),
      // `task.return`, again and again.
      section(
        8,
        times(count, () => [9, 0, 0, 0]),
      ),
      section(2, [
        2,
        1,
        ...times(count, (at) => [...text(`n${at}`), 0, at]),
        0,
        0,
        1,
        ...text("h"),
        0x12,
        0,
      ]),
      section(6, [1, 0, 0, 1, 1, ...text("f")]),
      section(8, [1, 0, 0, count, 0, 1]),
      section(11, [1, 0, ...text("f"), 1, 0, 0]),
    );
    expect(await refusalOf(bytes)).toContain("too large: build it with fewer imports");
  });

  test("a core module that is not valid is named as that", async () => {
    // One function type, which is cut off.
    const core = [...PREAMBLE.slice(0, 4), 1, 0, 0, 0, ...section(1, [1, 0x60])];
    const bytes = component(
      section(1, core),
      section(2, [1, 0, 0, 0]),
      section(6, [1, 0, 0, 1, 0, ...text("f")]),
      section(7, [1, 0x40, 0, 1, 0]),
      section(8, [1, 0, 0, 0, 0, 0]),
      section(11, [1, 0, ...text("f"), 1, 0, 0]),
    );
    expect(await refusalOf(bytes)).toContain("core module that is not valid");
  });

  test("a function of WASI with other types is refused", async () => {
    const low = (await readFile("test/node/components/low/low.wasm")).toString("latin1");
    const odd = low.replaceAll("[method]descriptor.open-at", "[method]descriptor.stat-at");
    expect(await refusalOf(Buffer.from(odd, "latin1"))).toMatch(
      /imports \[method\]descriptor\.stat-at of .* with other types/,
    );
  });

  test("a file that is cut off is refused at every length", async () => {
    const bytes = await readFile(COMPONENT);
    for (const length of [8, 9, 100, 5000, bytes.length >> 1, bytes.length - 1])
      expect(await refusalOf(bytes.subarray(0, length))).toMatch(/odd\.wasm: .*component/);
  });
});

test("a component with very many functions is refused", () => {
  const one = { name: "one", function: { type: { params: [] } } } as never;
  const exported = Array.from({ length: 201 }, () => one);
  expect(componentTools({ instances: [], exports: exported.slice(1) })).toHaveLength(200);
  expect(() => componentTools({ instances: [], exports: exported })).toThrow(
    "exports 201 functions, and at most 200 can be tools",
  );
});
