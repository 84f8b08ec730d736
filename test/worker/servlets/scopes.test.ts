import { describe, expect, test } from "vitest";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import { fits } from "../../../src/server/kernel/core/glob.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import {
  beyondOwn,
  commonScopes,
  isScope,
  mayBy,
  scopeFor,
} from "../../../src/server/kernel/servlets/scopes.ts";
import { withoutOpenId } from "../../../src/server/features/sign-in/token-requests.ts";
import { bundle } from "../../bundle.gen.ts";
import { settings } from "../settings.ts";

/** Scopes select tools, resources and prompts by patterns. */

describe("a key that somebody makes grants no more than their own:", () => {
  test.each<[own: string[], given: string, isMore: boolean]>([
    [["hello:*"], "hello:greet", false],
    [["hello:greet"], "hello:*", true],
    [["*:s*"], "profile:support", true],
    [["*:*"], "profile:*", true],
    [["*:*"], "*:*", false],
    [["profile:s*"], "profile:support", false],
    [["profile:support"], "profile:sales", true],
    [["tools"], "profile:support", true],
    [["all"], "profile:support", false],
  ])("%j, %s: %j", (own, given, isMore) => {
    const configured = { tools: ["*:*"], all: ["*:*", "profile:*"] };
    expect(beyondOwn([given], own, configured)).toBe(isMore ? given : undefined);
  });
});

describe("what an app may do for somebody with a role is what both grant:", () => {
  test.each<[asked: string[] | undefined, role: string[] | undefined, both: string[] | undefined]>([
    [undefined, undefined, undefined],
    [undefined, ["hello:*"], ["hello:*"]],
    [["hello:greet"], undefined, ["hello:greet"]],
    [["operator", "hello:*"], undefined, ["hello:*"]],
    [["hello:greet", "notes:*"], ["hello:*"], ["hello:greet"]],
    [["*:*"], ["hello:*", "profile:support"], ["hello:*"]],
    [["profile:*"], ["profile:support"], ["profile:support"]],
    [["reader"], ["hello:*"], ["hello:*"]],
    [["reader"], ["reader"], ["reader"]],
    [["hello:*"], ["*:greet"], []],
    [["other"], ["hello:*"], []],
    [["operator"], ["hello:*"], []],
    [["operator"], ["hello:*", "operator"], ["operator"]],
  ])("%j of %j: %j", (asked, role, both) => {
    const configured = { reader: ["hello:*", "notes:list"] };
    expect(commonScopes(asked, role, configured)?.toSorted()).toEqual(both?.toSorted());
  });
});

describe("a glob", () => {
  test.each<[string, string, boolean]>([
    ["hello:*", "hello:greet", true],
    ["hello:*", "hello:", true],
    ["hello:*", "hell:o", false],
    ["*:greet", "hello:greet", true],
    ["*:greet", "hello:greeting", false],
    ["*:gre*t", "hello:great:greet", true],
    ["a:*b*c", "a:xbxbxc", true],
    ["a:*b*c", "a:xcxb", false],
    ["a:b", "a:b", true],
    ["a:b", "a:bb", false],
    ["a:(b|c)+", "a:b", false],
    ["a:b?", "a:bc", false],
    ["**", "", true],
    ["", "a", false],
    ["*", "a\nb", true],
  ])("%j and %j: %j", (glob, text, isFit) => {
    expect(fits(glob, text)).toBe(isFit);
  });

  test("may have one sign for any one character", () => {
    expect(fits("a?c", "abc", "?")).toBe(true);
    expect(fits("a?c", "ac", "?")).toBe(false);
  });

  test("takes no time that grows without end, whoever has written it", () => {
    const text = `${"x".repeat(8000)}z`;
    expect(fits("*:*x*x*x*x*x*y", `a:${text}`)).toBe(false);
    expect(fits("*_read", ":".repeat(8000))).toBe(false);
  });
});

describe("scopes", () => {
  const configured = { reader: ["web:*"], all: ["*:*"] };

  test("are for what the configuration says, or say it themselves", () => {
    const may = mayBy(["reader", "hello:greet", "nothing"], configured);
    expect([may("web", "fetch"), may("hello", "greet"), may("hello", "bye")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test.each<[string, string, string, boolean]>([
    ["*:greet", "notes", "greet", true],
    ["*:greet", "notes", "note://x:greet", false],
    ["*", "notes", "greet", false],
    ["note*:list", "notes", "list", true],
    ["n*:greet", "notes", "x:greet", false],
    ["notes:note://*", "notes", "note://a:b", true],
    ["notes:*:greet", "notes", "note://x:greet", true],
    ["notes:*", "notes", "note://x:greet", true],
    ["not*es:greet", "not", "es:greet", false],
  ])("the pattern %s and what %s calls %s: %j", (pattern, servlet, name, isGranted) => {
    expect(mayBy([pattern], {})(servlet, name)).toBe(isGranted);
    expect(mayBy(["some"], { some: [pattern] })(servlet, name)).toBe(isGranted);
    expect(scopeFor(servlet, name, { some: [pattern] })).toBe(
      isGranted ? "some" : `${servlet}:${name}`,
    );
  });

  test.each(["constructor", "__proto__", "toString", `a:${"x".repeat(300)}`])(
    "%s is for nothing",
    (scope) => {
      expect(mayBy([scope], configured)("a", "x".repeat(300))).toBe(false);
    },
  );

  test("are known by what they are for", () => {
    const known = ["reader", "hello:*", "hel*:greet", "mcp:tools", "openid", "constructor"];
    expect(
      known.filter((scope) =>
        isScope(scope, configured, { servlets: ["hello", "web"], profiles: [] }),
      ),
    ).toEqual(["reader", "hello:*", "hel*:greet"]);
    expect(isScope("hello:*", undefined, { servlets: ["hello"], profiles: [] })).toBe(true);
    expect(isScope("openid", undefined, { servlets: ["hello"], profiles: [] })).toBe(false);
  });

  test("of one caller are not another's, however they are written", async () => {
    const all = new Registry(bundle, deploymentOf(readSettings(settings), settings));
    const greet = { kind: "tool", name: "greet", input: {} } as const;
    const ada = await all.within({ scopes: ["hello:greet", "clock:*"] }).resolve(greet);
    expect(ada.tool?.own).toBe("greet");
    const eve = all.within({ scopes: ["clock:* hello:greet"] });
    await expect(eve.resolve(greet)).rejects.toMatchObject({ code: "insufficient_scope" });
  });

  test("that would be enough are named", () => {
    expect(scopeFor("web", "fetch", configured)).toBe("reader");
    expect(scopeFor("hello", "greet", { reader: ["web:*"] })).toBe("hello:greet");
  });
});

describe("words of OpenID Connect name no servlet", () => {
  const words = ["openid", "profile", "email", "address", "phone", "offline_access"];
  const there = { servlets: words, profiles: [] };
  const registered = (scope: string) => isScope(scope, {}, there);

  test.each(words)("%s", (name) => {
    expect(registered(name)).toBe(false);
    expect(withoutOpenId([name, `${name}:*`], registered)).toEqual([`${name}:*`]);
    expect(mayBy(words, {})(name, "send")).toBe(false);
    expect(mayBy([`${name}:*`], {})(name, "send")).toBe(true);
    expect(isScope(scopeFor(name, "send", {}), {}, there)).toBe(true);
  });

  test("unless SCOPES does", () => {
    const configured = { email: ["email:send"] };
    const isKnown = (scope: string) => isScope(scope, configured, there);
    expect(withoutOpenId(words, isKnown)).toEqual(["email"]);
    const may = mayBy(words, configured);
    expect([may("email", "send"), may("email", "read"), may("profile", "send")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
