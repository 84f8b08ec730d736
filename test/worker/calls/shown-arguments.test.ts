import { describe, expect, test } from "vitest";
import { aboutOf, shownArguments } from "../../../src/server/kernel/calls/shown-arguments.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import type { Entry } from "../../../src/server/kernel/servlets/registry.ts";

/** What pages show of a call's arguments. */

const PROPERTIES = {
  pin: { type: "string", format: "password" },
  login: { type: "object", properties: { word: { type: "string", writeOnly: true } } },
  codes: { type: "array", items: { type: "string", format: "password" } },
  maybe: { anyOf: [{ type: "string", writeOnly: true }, { type: "null" }] },
  behind: { $ref: "#/$defs/Word" },
  map: { type: "object", additionalProperties: { allOf: [{ $ref: "#/$defs/Word" }] } },
  lists: { type: "array", items: { $ref: "#/$defs/Lists" } },
  plain: { type: "string", examples: [{ format: "password" }] },
};

const $defs = {
  Word: { type: "string", format: "password" },
  Lists: { anyOf: [{ type: "array", items: { $ref: "#/$defs/Lists" } }, { $ref: "#/$defs/Word" }] },
};

const entry = (input: Json) =>
  ({
    ref: { kind: "tool", name: "deploy", input },
    servlet: { name: "deploys" } as PreparedServlet,
    tool: {
      tool: { name: "deploy", inputSchema: { type: "object", properties: PROPERTIES, $defs } },
    },
  }) as unknown as Entry;

const about = (input: Json) => aboutOf(entry(input)).arguments;

describe("a list", () => {
  test("has the servlet, and the first arguments on one line", () => {
    expect(aboutOf(entry({ environment: "production", version: 2 }))).toEqual({
      servlet: "deploys",
      arguments: "environment: production, version: 2",
    });
    expect(about({})).toBe("");
    expect(about({ a: 1, b: true, c: null, d: 4 })).toBe("a: 1, b: true, c: null, …");
    expect(about({ many: [1, 2], one: ["x"], whole: { a: 1 } })).toBe(
      "many: 1 | 2, one: x, whole: {…}",
    );
    expect(about({ all: ["tea", null, true, 4], none: [], steps: [{ a: 1 }, [2]] })).toBe(
      "all: tea | null | true | …, none: none, steps: 2 items",
    );
    expect(about({ one: [[1]] })).toBe("one: 1 item");
  });

  test("has beginnings, and shows each character", () => {
    expect(about({ text: "x".repeat(1e6) })).toBe(`text: ${"x".repeat(40)}…`);
    expect(about({ ["n".repeat(1e6)]: "line\nbreak \u202e" }).length).toBeLessThan(100);
    expect(about({ text: "a\nb\u202ec" })).toBe("text: a b\\u{202e}c");
  });
});

describe("secrets are hidden", () => {
  test.each([
    "password",
    "api_key",
    "apiKey",
    "Authorization",
    "clientSecret",
    "token",
    "pin",
    "pwd",
    "accessKey",
    "cookie",
  ])("in an argument named %s", (name) => {
    expect(about({ [name]: "hunter2" })).toBe(`${name}: (hidden)`);
    expect(shownArguments({ [name]: "hunter2" }, entry({}))).toEqual({ [name]: "(hidden)" });
  });

  test("inside of others, by name or by schema", () => {
    const given = { login: { user: "ada", word: "hunter2" }, all: [{ password: "hunter2" }] };
    const shown = JSON.stringify(shownArguments(given, entry({})));
    expect(shown).toContain("ada");
    expect(shown).not.toContain("hunter2");
  });

  test.each([
    { codes: ["hunter2"] },
    { maybe: "hunter2" },
    { behind: "hunter2" },
    { map: { any: "hunter2" } },
    { lists: [[["hunter2"]]] },
  ])("by a schema that says it of an item, a choice or behind a reference: %j", (given) => {
    const [name] = Object.keys(given);
    expect(about(given)).toBe(`${name}: (hidden)`);
    expect(shownArguments({ deep: [given] }, entry({}))).toEqual({
      deep: `[{"${name}":"(hidden)"}]`,
    });
    expect(about({ plain: "shown", first: ["a"] })).toBe("plain: shown, first: a");
  });

  test("all, where a schema declares names that it does not know", () => {
    const inputSchema = { type: "object", additionalProperties: { format: "password" } };
    const open = {
      ...entry({ a: "hunter2" }),
      tool: { tool: { inputSchema } },
    } as unknown as Entry;
    expect(aboutOf(open).arguments).toBe("a: (hidden)");
  });

  test.each([{ $ref: "#word" }, { $dynamicRef: "#word" }, { $ref: "https://a.example/word" }])(
    "all, behind a reference that is no pointer: %j",
    (behind) => {
      const Word = { $anchor: "word", $dynamicAnchor: "word", format: "password" };
      const inputSchema = { type: "object", properties: { a: behind }, $defs: { Word } };
      const open = {
        ...entry({ a: "hunter2" }),
        tool: { tool: { inputSchema } },
      } as unknown as Entry;
      expect(aboutOf(open).arguments).toBe("a: (hidden)");
    },
  );

  test("in time by the length of a text", () => {
    const text = `?${"token".repeat(200_000)} ${"://a:".repeat(200_000)}`;
    expect(about({ text }).length).toBeLessThan(100);
    expect(shownArguments({ all: [text] }, entry({}))["all"]!.length).toBeLessThan(1000);
  });

  test("of a schema with more than is looked at", () => {
    const part = (nth: number) => ({ type: "array", items: { title: `${nth}` } });
    const properties = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, nth) => [`p${nth}`, part(nth)]),
    );
    const large = {
      tool: { tool: { name: "large", inputSchema: { type: "object", properties } } },
    };
    expect(shownArguments({ p1: ["x"] }, large as unknown as Entry)).toEqual({ p1: "(hidden)" });
  });

  test("in addresses, by their parts and the names in their queries", () => {
    const url = "see postgres://ada:hunter2@db/app?page=2&api_key=hunter2&to=a@b#token=hunter2";
    const shown = "see postgres://(hidden)@db/app?page=2&api_key=(hidden)&to=a@b#token=(hidden)";
    expect(shownArguments({ url, all: [url] }, entry({}))).toEqual({
      url: shown,
      all: `["${shown}"]`,
    });
    expect(about({ url: url.slice(4) })).toBe("url: postgres://(hidden)@db/app?page=2&api_ke…");
    expect(about({ to: "ada@example.com" })).toBe("to: ada@example.com");
  });

  test("but not numbers, which count", () => {
    expect(about({ max_tokens: 100, tokens: 5 })).toBe("max_tokens: 100, tokens: 5");
  });
});
