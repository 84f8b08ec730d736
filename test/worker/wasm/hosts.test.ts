import { describe, expect, test } from "vitest";
import { isAllowed } from "../../../src/server/kernel/wasm/hosts.ts";

/** True if a servlet that may reach every public host could get there; false for an invalid URL. */
const isReached = (address: string, patterns = ["*"]) =>
  URL.canParse(address) && isAllowed(new URL(address), patterns);

describe("hosts outside the public internet are not reached, in any spelling", () => {
  test.each([
    ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F.1", "017700000001"],
    ...["0177.0.0.1", "0x7f.0.0.0x1", "127.0.0.1.", "127.255.255.254", "%31%32%37.0.0.1"],
    ...["１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "0", "0.0.0.0"],
    ...[
      "10.0.0.1",
      "10.1",
      "0xa000001",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.0.1",
      "192.168.257",
    ],
    ...["169.254.169.254", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518"],
    ...["100.64.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1"],
    ...["203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
    ...[
      "[::]",
      "[::1]",
      "[0:0:0:0:0:0:0:1]",
      "[0000::0001]",
      "[::127.0.0.1]",
      "[::ffff:127.0.0.1]",
    ],
    ...[
      "[::ffff:7f00:1]",
      "[::FFFF:A9FE:A9FE]",
      "[0:0:0:0:0:ffff:10.0.0.1]",
      "[::ffff:0:127.0.0.1]",
    ],
    ...["[64:ff9b::127.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:1::1]", "[2001::1]"],
    ...["[2001:1ff::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]", "[4000::1]"],
    ...["[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[febf::1]", "[fec0::1]", "[fc00::1]"],
    ...["[fd00:ec2::254]", "[ff02::1]", "[::1%25lo]"],
    ...[
      "localhost",
      "LOCALHOST",
      "localhost.",
      "localhost..",
      "a.localhost",
      "ｌocalhost",
      "loc%61lhost",
    ],
    ...["intranet", "router.local", "metadata.google.internal", "metadata.google.internal."],
    ...["db.corp", "nas.lan", "x.home.arpa", "x.localdomain", "x.private", "x.onion"],
    ...["good.example@127.0.0.1", "good.example:80@10.0.0.1", "good.example\\@127.0.0.1#"],
  ])("%s", (host) => {
    // The part before a backslash is a host of its own, and a public one.
    expect(isReached(`http://${host}/`)).toBe(host.includes("\\"));
    expect(isReached(`http://${host}/`, ["*.*", "*:80", "?*", "[*"])).toBe(host.includes("\\"));
  });
});

test.each([
  ...["example.com", "EXAMPLE.com.", "1.1.1.1", "16843009", "[2606:4700:4700::1111]"],
  ...["[2001:4860:4860::8888]", "[::ffff:1.1.1.1]", "xn--bcher-kva.example", "bücher.example"],
  ...["172.32.0.1", "100.128.0.1", "localhost.example", "127.0.0.1.example"],
])("a public host is reached: %s", (host) => {
  expect(isReached(`https://${host}/`)).toBe(true);
});

describe("a host is reached where a pattern is meant for it", () => {
  test.each<[string, string, boolean]>([
    ["http://127.0.0.1/", "127.0.0.1", true],
    ["http://0x7f.1/", "127.0.0.1", true],
    ["http://127.0.0.1:8080/", "127.0.0.1:80", false],
    ["http://127.0.0.1:8080/", "127.0.0.1:8080", true],
    ["http://[::1]/", "[::1]", true],
    ["http://localhost:3000/", "localhost", true],
    ["https://api.example.com/", "*.example.com", true],
    ["https://example.com/", "*.example.com", false],
    ["https://example.com.evil.example/", "example.com", false],
    ["https://example.com.evil.example/", "*example.com", false],
    ["https://evil.example/?api.example.com", "*.example.com", false],
    ["https://evil.example/api.example.com", "*.example.com", false],
    ["https://evil.example#.example.com", "*.example.com", false],
    ["https://apixexample.com/", "api.example.com", false],
    ["https://api.example.com\\@evil.example/", "evil.example", false],
    ["https://api.example.com:443@evil.example/", "api.example.com", false],
    ["https://EXAMPLE.com/", "example.COM", true],
    ["https://xn--bcher-kva.example/", "xn--bcher-kva.example", true],
    ["https://example.com:444/", "example.com:443", false],
    ["http://example.com/", "example.com:443", false],
    ["https://example.com/", "example.com:443", true],
  ])("%s %s %s", (url, pattern, is) => {
    expect(isReached(url, [pattern])).toBe(is);
  });
});
