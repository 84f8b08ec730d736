import { describe, expect, test } from "vitest";
import { hiding } from "../../../src/server/kernel/core/redaction.ts";

/** Secrets that a caller lends are struck out of texts. */
const hidden = (text: string, ...secrets: string[]) =>
  hiding({ secrets: new Map(secrets.map((one, at) => [`s${at}`, one])), tokens: new Map() })(text);

const basic = (text: string) => new TextEncoder().encode(text).toBase64();

describe("a secret is struck out", () => {
  test.each<[string, string, string, string]>([
    ["as it is", "hunter2secret", "It is hunter2secret.", "It is [hidden]."],
    [
      "in another case",
      "Hunter2Ébène",
      "https://hunter2ébène.example/",
      "https://[hidden].example/",
    ],
    ["after a letter that grows in lower case", "hunter2", "İİHUNTER2.", "İİ[hidden]."],
    ["with a final sigma", "odos-ΟΔΟΣ", "odos-οδοςx odos-οδοσ", "[hidden]x [hidden]"],
    ["in JSON", 'a"b\n', JSON.stringify({ s: 'a"b\n' }), '{"s":"[hidden]"}'],
    ["in JSON with escaped slashes", "a/b/c", String.raw`{"s":"a\/b\/c"}`, '{"s":"[hidden]"}'],
    [
      "as Python writes it",
      `a"b's\\\n`,
      String.raw`KeyError: 'a"b\'s\\\n'`,
      "KeyError: '[hidden]'",
    ],
    ["in a URL", "á/b c", "?q=%C3%A1%2Fb%20c&", "?q=[hidden]&"],
    ["in a form", "á/b c", "q=%c3%a1%2Fb+c&", "q=[hidden]&"],
    ["twice", "ab1", "ab1ab1-ab1", "[hidden]-[hidden]"],
    ["that overlaps with itself", "aba", "xabababax", "x[hidden]x"],
    ["of signs of regular expressions", "a.*(b", "a.*(b axx(b", "[hidden] axx(b"],
    ["with lone surrogates", "a\ud800b", "a\ud800b a\ufffdb", "[hidden] [hidden]"],
  ])("%s", (_name, secret, text, expected) => {
    expect(hidden(text, secret)).toBe(expected);
  });

  test.each(["u:", "us:", "user:"])("in Basic, behind %s", (user) => {
    const text = hidden(`Basic ${basic(`${user}hunter2-secret`)}`, "hunter2-secret");
    expect(text).toMatch(/^Basic [\w+/]{0,7}\[hidden\][\w+/=]{0,4}$/);
  });

  test("line by line, where it has several", () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----";
    expect(key.split("\n").map((line) => hidden(line, key))).toEqual(Array(4).fill("[hidden]"));
  });

  test("that overlaps with another", () => {
    expect(hidden("x abcdef x", "abcd", "cdef")).toBe("x [hidden] x");
  });

  test("of 100 KB, and no error quotes it", () => {
    const secret = Array.from({ length: 10_000 }, (_, at) => `secret${at}(`).join("");
    expect(hidden(`<${secret}> <${basic(secret)}>`, secret)).toBe("<[hidden]> <[hidden]>");
  });

  test("in linear time, whoever has chosen the text and the secret", () => {
    const text = "a".repeat(2_000_000);
    const half = "a".repeat(50_000);
    expect(hidden(text, `${half}b${half}`, `b${half}`, `${half}b`)).toBe(text);
  });

  test("and nothing else is changed", () => {
    expect(hidden("anything", "")).toBe("anything");
    expect(hidden("anything")).toBe("anything");
    expect(hidden("any [thing] % ÄÖ", "hunter2")).toBe("any [thing] % ÄÖ");
  });
});
