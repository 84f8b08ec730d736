import { describe, expect, test } from "vitest";
import { aboutOf, shownArguments } from "../../../src/calls/shown-arguments.ts";
import type { Json } from "../../../src/core/model.ts";
import type { PreparedServlet } from "../../../src/servlets/bundle.ts";
import type { Entry } from "../../../src/servlets/registry.ts";

/** What pages show of a call's arguments. */

const PROPERTIES = {
  pin: { type: "string", format: "password" },
  login: { type: "object", properties: { word: { type: "string", writeOnly: true } } },
  code: { anyOf: [{ type: "string", format: "password" }, { type: "null" }] },
  word_of_all: { allOf: [{ type: "string" }, { writeOnly: true }] },
  named: { $ref: "#/$defs/Word" },
  codes: { type: "array", items: { type: "string", format: "password" } },
  rest: { type: "object", additionalProperties: { $ref: "#/$defs/Word" } },
  tree: { $ref: "#/$defs/Tree" },
};
const $defs = {
  Word: { type: "string", writeOnly: true },
  Tree: {
    type: "object",
    properties: {
      leaf: { $ref: "#/$defs/Word" },
      branches: { items: { $ref: "#/$defs/Tree" } },
    },
  },
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
    "otp",
    "accessKey",
    "session_cookie",
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

  test.each(["code", "word_of_all", "named", "codes", "rest", "leaf"])(
    "by a schema that only says so in a part, or elsewhere: %s",
    (name) => {
      for (const value of ["hunter2", ["hunter2"], { a: "hunter2" }]) {
        expect(about({ [name]: value })).toBe(`${name}: (hidden)`);
        const given = { tree: { branches: [{ [name]: value }] } };
        expect(JSON.stringify(shownArguments(given, entry({})))).not.toContain("hunter2");
      }
    },
  );

  test("all, where a schema declares names that it does not know", () => {
    const inputSchema = { type: "object", additionalProperties: { format: "password" } };
    const open = {
      ...entry({ a: "hunter2" }),
      tool: { tool: { inputSchema } },
    } as unknown as Entry;
    expect(aboutOf(open).arguments).toBe("a: (hidden)");
  });

  test("in addresses", () => {
    const given = {
      at: "https://ada:hunter2@a.example/b?q=tea&access_token=hunter2&n=1#key",
      all: ["see http://x.example/?q=1;API_KEY=hunter2 and postgres://u:hunter2@db/x"],
    };
    const shown = JSON.stringify(shownArguments(given, entry({})));
    expect(shown).not.toContain("hunter2");
    for (const one of ["a.example/b?q=tea&access_token=", "n=1#key", "db/x"])
      expect(shown).toContain(one);
    expect(about({ at: "https://u:hunter2@a.example/" })).not.toContain("hunter2");
    expect(about({ at: `x://${"a".repeat(38)}:hunter2@b` })).not.toContain("hunter2");
  });

  test("in time by the length of a text", () => {
    const text = `?${"token".repeat(200_000)} ${"://a:".repeat(200_000)}`;
    expect(about({ text }).length).toBeLessThan(100);
    expect(shownArguments({ all: [text] }, entry({}))["all"]!.length).toBeLessThan(1000);
  });

  test("but not numbers, which count", () => {
    expect(about({ max_tokens: 100, tokens: 5 })).toBe("max_tokens: 100, tokens: 5");
  });
});
