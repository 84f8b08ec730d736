import dns from "node:dns";
import { afterEach, describe, expect, test, vi } from "vitest";
import { lookupFor, redirected, requestSource } from "../../../../src/tools/bundle/sources/http.ts";

/** Where requests for sources may go. */

afterEach(() => vi.restoreAllMocks());

/** Has each lookup of a name give the next of these addresses. */
function resolvingTo(...answers: string[][]) {
  return vi.spyOn(dns.promises, "lookup").mockImplementation((async () =>
    (answers.length > 1 ? answers.shift()! : answers[0]!).map((address) => ({
      address,
      family: 4,
    }))) as unknown as typeof dns.promises.lookup);
}

describe("a redirect from a public address", () => {
  const from = new URL("https://registry.example.com/v2/");
  const open = { isLoopback: false, isPrivate: false };

  test.each([
    ["http://cdn.example.com/blob", /only https is followed/],
    ["https://10.0.0.7/blob", /10.0.0.7, which is in a private network/],
    ["https://[::1]/blob?token=abc", /in a private network/],
    ["https://metadata.internal/", /in a private network/],
    ["file:///etc/passwd", /only https is followed/],
  ])("to %s is not followed", (location, message) => {
    expect(() => redirected(location, from, open)).toThrow(message);
    expect(() => redirected(location, from, open)).not.toThrow(/token/);
  });

  test("to a name of a private address is not followed", async () => {
    resolvingTo(["192.168.1.1"]);
    const found = (origin: typeof open) =>
      new Promise<string>((resolve) => {
        lookupFor(origin)("cdn.private.example", { all: true }, (error, all) =>
          resolve(error?.message ?? JSON.stringify(all)),
        );
      });
    expect(await found(open)).toMatch(/in a private network/);
    expect(await found({ ...open, isPrivate: true })).toContain("192.168.1.1");
  });
});

describe("a name whose addresses its owner chooses", () => {
  const redirectedFrom = (name: string) =>
    requestSource(new URL("https://10.0.0.7/token"), {
      from: new URL(`https://${name}/`),
      maxBytes: 1,
    });
  const REFUSED = /leads to 10.0.0.7, which is in a private network/;

  test("is not in a private network because one of them is", async () => {
    resolvingTo(["203.0.114.1", "192.168.1.1"]);
    await expect(redirectedFrom("mixed.example")).rejects.toThrow(REFUSED);
    const asked = requestSource(new URL("https://mixed.example/"), { maxBytes: 1 });
    await expect(asked).rejects.toThrow(/mixed.example, which is in a private network/);
  });

  test("nor because it has none", async () => {
    resolvingTo([]);
    await expect(redirectedFrom("none.example")).rejects.toThrow(REFUSED);
  });

  test("is resolved once: what is connected to is what was checked", async () => {
    const lookup = resolvingTo(["192.168.1.1"], ["203.0.114.1"]);
    const connected = () =>
      new Promise((resolve) => {
        lookupFor({ isPrivate: true })("rebound.example", { all: true }, (_error, all) =>
          resolve(all),
        );
      });
    const both = [await connected(), await connected()];
    for (const one of both) expect(one).toEqual([{ address: "192.168.1.1", family: 4 }]);
    expect(lookup).toHaveBeenCalledTimes(1);
  });
});

test("a token service in a private network is not asked for a public registry", async () => {
  const from = new URL("https://203.0.114.1/");
  const asked = requestSource(new URL("https://10.0.0.7/token"), { from, maxBytes: 1 });
  await expect(asked).rejects.toThrow(/203.0.114.1\/: it leads to 10.0.0.7, which is in a private/);
});

test.each(["http://example.com/time.wasm", "http://10.0.0.7/time.wasm"])(
  "%s is not asked without encryption",
  async (url) => {
    await expect(requestSource(new URL(url), { maxBytes: 1 })).rejects.toThrow(/not encrypted/);
  },
);
