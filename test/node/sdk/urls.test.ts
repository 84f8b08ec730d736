import { beforeAll, describe, expect, test } from "vitest";
import { loadProbes } from "./probing.ts";
import type { Part } from "./servlets/standards/probes.ts";

/** The kit's URL and URLSearchParams answer as Node's do. */
let both: Awaited<ReturnType<typeof loadProbes>>;
beforeAll(async () => {
  both = await loadProbes();
});

const BASES = [
  undefined,
  "https://u:p@example.org:8080/foo/../bar/baz?q#f",
  "file:///C:/dir/x",
  "file://host/share/f",
  "about:blank",
  "other://h/a/b",
  "mailto:x@y",
];

/** References, whose meaning depends on the base. */
const REFERENCES = [
  "",
  "x",
  "/x",
  "//x",
  "///x",
  "\\\\x\\y",
  "?a",
  "#b",
  "..",
  "../..",
  ".",
  "./",
  "a/../b",
  "http:",
  "http:foo",
  "http:/foo",
  "https:foo",
  "file:",
  "file:..",
  "file:c:/x",
  "/c|/x",
  "//localhost/x",
  "a:b",
  "1:2",
  ":x",
  "//",
  "/..//x",
  "  x y\t",
  "other:foo",
];

/** By what is special about them. */
const URLS = {
  scheme: ["HTTP://EXAMPLE.com", "http://", "http:///foo", " http://x ", "ht\ntp://x\ty", "1x:"],
  credentials: ["http://a:b@c:29/d", "http://user@/www", "http://@h", "http://u:p:q@h@i/"],
  "credentials to encode": ["http://u%20 :p'/@h", "http://u :p@h", "other://é:'@h"],
  port: [
    "http://h:99999",
    "http://h:",
    "http://h:0080/",
    "https://h:443/",
    "ws://x:80",
    "ftp://x:21",
  ],
  "IPv6 host": ["http://[::1]/", "http://[1:2::3:4.5.6.7]:80", "http://[1:0:0:2:0:0:0:3]"],
  "IPv6 host, maybe": [
    "http://[::1",
    "http://[:::]",
    "http://[1:2:3:4:5:6:7:8:9]",
    "http://[::%25e]",
  ],
  "IPv4 host": [
    "http://1.2.3",
    "http://0x7f.1",
    "http://0300.168.0.0xF0",
    "http://1./",
    "http://0x/",
  ],
  "IPv4 host, maybe": [
    "http://256.1.1.1",
    "http://1.2.3.4.5",
    "http://%30x7f.1",
    "http://０Ｘｃ０.０１",
  ],
  "host of any script": [
    "http://münchen.de/ä?ö#ü",
    "http://日本語.jp",
    "http://faß.de",
    "http://💩.com",
  ],
  "host that is no name": [
    "http://xn--te\u0161la/",
    "http://\u200d.example/",
    "http://look\u05beout.net/",
    "http://look\u202eout.net/",
    "http://look\u034fout.net/",
  ],
  "host, strange": [
    "http://ex%41mple.com",
    "http://a_b.com",
    "http://*.com",
    "http://a,b;c=d!$&'()+/",
  ],
  "host, maybe": ["http://a%2fb/", "http://a^b/", "http://a b/", "http://a..b", "http://xn--a"],
  path: ["http://x/%2e/%2E%2e/y", 'http://x/a%00b\u0001 "<>`{}|^', "http://x/\ud800"],
  "query and fragment": [
    "http://x/?'\"<>#`'<>\"",
    "other://x/?'\"",
    "http://x?y",
    "http://x/a?b?c#d#e",
  ],
  opaque: [
    "javascript:alert(1)",
    "data:text/plain, x ?y #z",
    "mailto:a@b?c=d e",
    "blob:https://a.com/x",
  ],
  "path of another scheme": ["other://h/..", "other:/a/../..//b", "other:///p", "other:b/../x"],
  "host of another scheme": [
    "other://",
    "other://h:80/x",
    "other://h:xx",
    "other://:80",
    "other://A/",
  ],
  "host of another scheme, maybe": ["other://[::1]/", "other://a%20b/", "other://a b/"],
  "no host": ["web+demo:/.//not-a-host/", "web+demo:/..//not-a-host/"],
  file: ["file:///c:/../..", "file://localhost/x", "file:///C|/x", "file://h:80/x"],
};

describe("URL", () => {
  test.each(BASES.map((base) => [base]))("references from %s", async (base) => {
    const { ours, nodes } = await both(
      "parse",
      REFERENCES.map((input) => (base === undefined ? [input] : [input, base])),
    );
    expect(ours).toEqual(nodes);
  });

  test.each(Object.entries(URLS))("%s", async (_what, urls) => {
    const { ours, nodes } = await both(
      "parse",
      urls.map((input) => [input]),
    );
    expect(ours).toEqual(nodes);
  });

  test("canParse and parse", async () => {
    const { ours, nodes } = await both("can_parse", [
      ["nope"],
      ["x:y"],
      ["../b", "http://h/a/"],
      ["//["],
      ["b", "x:y"],
    ]);
    expect(ours).toEqual(nodes);
  });

  test("members that are set", async () => {
    const values: Record<Part, string[]> = {
      href: ["x:y", "nope"],
      protocol: ["https", "ws:", "foo", "file:", "1"],
      username: ["é", "", "a:b"],
      password: ["p@", ""],
      host: ["h:81", ":82", "", "a b", "[::1]:9", "x/p", "1.2.3"],
      hostname: ["é.com", "h:81", "", "EX"],
      port: ["80", "443", "99999", "8a", "", "x"],
      pathname: ["", "/p?q#r", "p\\q", "../x", "//x"],
      search: ["", "?a=b", "a'b c", "#"],
      hash: ["", "#c", "c d`"],
    };
    const cases = [
      "http://u:p@h.com:81/a?b#c",
      "file://h/x",
      "foo://h",
      "foo:/x//y",
      "mailto:a@b",
    ].flatMap((input) =>
      Object.entries(values).flatMap(([part, all]) =>
        all.map((value): [string, Part, string] => [input, part as Part, value]),
      ),
    );
    const { ours, nodes } = await both("set", cases);
    expect(ours).toEqual(nodes);
  });

  test("searchParams, which change with it", async () => {
    const { ours, nodes } = await both("linked", [
      ["http://h/?a=1&a=2#f"],
      ["http://h/"],
      ["mailto:a@b?c=d%20e"],
    ]);
    expect(ours).toEqual(nodes);
  });
});

test("URLSearchParams", async () => {
  const { ours, nodes } = await both("params", [
    ["a=b&c=d"],
    ["b=1&a=0&b=2&c=3&b=4"],
    ["?a=1&a=2"],
    ["??a"],
    ["a"],
    ["=a"],
    ["&&a=1&&"],
    ["a+b=c%20d"],
    ["%F0%9F%92%A9=%ff&a=%zz"],
    ["x=é&y=💩"],
    ["a=b=c&a%26=b%3D"],
    ["~!'()*-._ "],
    [{ a: "1", b: "\ud800" }],
    [
      [
        ["a", "1"],
        ["a", "2"],
      ],
    ],
    [[["a"]]],
  ]);
  expect(ours).toEqual(nodes);
});
