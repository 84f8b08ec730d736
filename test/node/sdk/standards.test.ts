import { beforeAll, describe, expect, test } from "vitest";
import { loadProbes } from "./probing.ts";
import { VALUES } from "./servlets/standards/clones.ts";

/** TextDecoder, structuredClone and their kin: the kit's answer as Node's do. */
let both: Awaited<ReturnType<typeof loadProbes>>;
beforeAll(async () => {
  both = await loadProbes();
});

describe("TextDecoder", () => {
  const UTF8: number[][][] = [
    [[0x61, 0xc3, 0xa9, 0xf0, 0x9f, 0x92, 0xa9]],
    // A byte order mark, and a second one; the mark in parts; one that comes too late.
    [[0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, 0x61]],
    [[0xef], [0xbb], [0xbf, 0x61]],
    [[0x61], [0xef, 0xbb, 0xbf, 0x62]],
    // Characters in parts, whole and broken off.
    [[0xf0, 0x9f], [0x92], [0xa9]],
    [[0xe2, 0x82], [0x61]],
    [[0xe2, 0x82], []],
    // Invalid UTF-8: a lone byte, one too many, overlong forms, surrogates, beyond the last plane.
    [[0xff, 0x61]],
    [[0x80, 0x61]],
    [[0xc3, 0x61]],
    [[0xf0, 0x9f, 0x41, 0xff]],
    [[0xc0, 0xaf]],
    [[0xe0, 0x80, 0xaf]],
    [[0xed, 0xa0, 0x80]],
    [[0xf4, 0x90, 0x80, 0x80]],
    [[0xf0, 0x9f, 0x92]],
    // A character beyond the first plane as two surrogates; a replacement character and a zero that are meant.
    [[0xed, 0xa0, 0xbd, 0xed, 0xb2, 0xa9]],
    [[0xef, 0xbf, 0xbd, 0, 0xf4, 0x8f, 0xbf, 0xbf]],
  ];
  const UTF16: number[][][] = [
    [[0x41, 0, 0x3d, 0xd8, 0xa9, 0xdc]],
    [[0xff, 0xfe, 0x41, 0]],
    [[0x3d], [0xd8, 0xa9], [0xdc]],
    [[0x3d, 0xd8, 0x41, 0]],
    [[0xa9, 0xdc]],
    [[0x41, 0, 0x42]],
    [[0x3d, 0xd8, 0x41]],
  ];

  test.each([{}, { fatal: true }, { ignoreBOM: true }])("%j", async (options) => {
    const { ours, nodes } = await both("decode", [
      ...UTF8.map((parts): [string, object, ...number[][]] => ["utf-8", options, ...parts]),
      ...UTF16.map((parts): [string, object, ...number[][]] => ["utf-16le", options, ...parts]),
    ]);
    expect(ours).toEqual(nodes);
  });

  test("of each first byte, with second bytes around what it allows", async () => {
    const firsts = Array.from({ length: 128 }, (_, at) => 0x80 + at);
    const seconds = [0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0];
    const all = firsts.flatMap((first) =>
      seconds.flatMap((second) =>
        [[0x80, 0x80], [0x80], []].map((rest) => [first, second, ...rest]),
      ),
    );
    const { ours, nodes } = await both(
      "decode",
      all.map((bytes) => ["utf-8", {}, bytes]),
    );
    expect(ours).toEqual(nodes);
  });

  test("by label", async () => {
    const { ours, nodes } = await both(
      "decode",
      ["UTF8", " utf-8\n", "unicode-1-1-utf-8", "utf-16", "nonsense"].map((label) => [label, {}]),
    );
    expect(ours).toEqual(nodes);
  });
});

test("TextEncoder", async () => {
  const texts = ["", "abc", "é💩", "\ud800x\udc00", "\ufeffa", "aé€💩"];
  const { ours, nodes } = await both(
    "encode",
    texts.flatMap((text) => [0, 3, 5, 20].map((room): [string, number] => [text, room])),
  );
  expect(ours).toEqual(nodes);
});

describe("base64", () => {
  test("btoa", async () => {
    const texts = ["", "a", "ab", "abc", "\u0000\u00ff", "é", "€"];
    const { ours, nodes } = await both(
      "to_base64",
      texts.map((text) => [text]),
    );
    expect(ours).toEqual(nodes);
  });

  test("atob", async () => {
    const texts = ["", "YWJj", "YQ==", "YQ", " Y Q = = ", "Y", "Y!"];
    const { ours, nodes } = await both(
      "from_base64",
      texts.map((text) => [text]),
    );
    expect(ours).toEqual(nodes);
  });
});

describe("Headers", () => {
  test("in order, those of one name joined", async () => {
    const { ours, nodes } = await both("headers", [
      [{ "X-B": "2", "x-a": "1" }],
      [
        [
          ["b", "1"],
          ["B", "2"],
          ["a", " 3 "],
        ],
      ],
    ]);
    expect(ours).toEqual(nodes);
  });

  test("valid names and values", async () => {
    const { ours, nodes } = await both("header_name", [
      ["X-Fine_1", "é"],
      ["", "x"],
      ["a b", "x"],
      ["a:", "x"],
      ["é", "x"],
      ["a", "line\nbreak"],
      ["a", "€"],
      ["a", "\n x \r\n"],
    ]);
    expect(ours).toEqual(nodes);
  });
});

describe("structuredClone", () => {
  test.each(Object.keys(VALUES))("%s", async (name) => {
    const { ours, nodes } = await both("clone", [[name]]);
    expect(ours).toEqual(nodes);
  });
});
