import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { overlapsOf } from "../../../src/server/features/installs/servable.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import type { Lists } from "../../../src/server/kernel/core/model.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import type { Manifest } from "../../../src/server/kernel/servlets/manifest.ts";
import { Fault } from "../../../src/server/kernel/core/errors.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { bundled } from "../installs/installed.ts";

/** A URI belongs to one servlet, whatever the order of folders and installs. */

const usual = { ...limits };

const NONE: Lists = { tools: [], resources: [], resourceTemplates: [], prompts: [] };

function servlet(
  name: string,
  { uris = [], templates = [] }: { uris?: string[]; templates?: string[] },
  manifest: Manifest = {},
): PreparedServlet {
  const lists = {
    ...NONE,
    resources: uris.map((uri) => ({ uri, name: uri })),
    resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
  };
  return { ...bundled("hello"), name, hash: name, manifest, lists, exports: ["read_resource"] };
}

const orders = <T>(all: readonly T[]): T[][] =>
  all.length === 0
    ? [[]]
    : all.flatMap((one, at) => orders(all.toSpliced(at, 1)).map((rest) => [one, ...rest]));

const deployment = deploymentOf(readSettings({}), {});
const overlapsWith = (one: Parameters<typeof overlapsOf>[0], servlets: PreparedServlet[]) =>
  overlapsOf(one, { servlets, contributors: [] });
const registryOf = (servlets: PreparedServlet[]) => new Registry({ servlets }, deployment);

const ALL = [
  servlet("any", { templates: ["{+any}"] }),
  servlet("docs", { templates: ["docs://{+path}"], uris: ["docs://index"] }),
  servlet("books", { templates: ["docs://books/{id}", "docs://books/{id}/pages"] }),
  servlet("status", { templates: ["status://{code}"], uris: ["docs://books/7"] }),
  servlet("wide", { templates: ["status://{+code}"] }),
];

const OWNERS: [string, string][] = [
  ["x://1", "any"],
  ["docs://index", "docs"],
  ["docs://a/b", "docs"],
  ["docs://books/8", "books"],
  ["docs://books/8/pages", "books"],
  ["docs://books/8/9", "docs"],
  ["docs://books/7", "status"],
  ["status://404", "status"],
  ["status://4/04", "wide"],
];

test.each(OWNERS)("%s belongs to %s in each order", async (uri, owner) => {
  for (const servlets of orders(ALL)) {
    const registry = registryOf(servlets);
    expect((await registry.resource(uri)).servlet?.name).toBe(owner);
    const argument = { name: "x", value: "" };
    const input = { ref: { type: "ref/resource", uri }, argument } as const;
    const completer = await registry.resolve({ kind: "completion", name: uri, input });
    expect(completer.servlet?.name).toBe(owner);
  }
});

test("two templates that fit the same belong to a servlet of the bundle before an installed one, then by name", async () => {
  const { module: _, ...installed } = servlet("a", { templates: ["x://{one}"] });
  const others = [
    servlet("c", { templates: ["x://{two}"] }),
    servlet("b", { templates: ["x://{y}"] }),
  ];
  for (const servlets of orders([installed, ...others])) {
    expect((await registryOf(servlets).resource("x://1")).servlet?.name).toBe("b");
  }
});

test("a template that is completed belongs to the servlet that lists it", async () => {
  for (const servlets of orders(ALL)) {
    const ref = { type: "ref/resource", uri: "docs://books/{id}" } as const;
    const input = { ref, argument: { name: "id", value: "" } };
    const found = await registryOf(servlets).resolve({ kind: "completion", name: ref.uri, input });
    expect(found.servlet?.name).toBe("books");
  }
});

test("a resource that its servlet hides belongs to the next", async () => {
  const hiding = servlet("a", { templates: ["x://{id}"] }, { skip_resources: ["x://7"] });
  for (const servlets of orders([hiding, servlet("any", { templates: ["{+any}"] })])) {
    expect((await registryOf(servlets).resource("x://7")).servlet?.name).toBe("any");
    expect((await registryOf(servlets).resource("x://8")).servlet?.name).toBe("a");
  }
});

test("a caller without the owner's scope gets no other servlet's answer", async () => {
  for (const servlets of orders(ALL)) {
    const narrow = registryOf(servlets).within({ scopes: ["any:*"] });
    const refused = { code: "insufficient_scope", data: { scope: "status:status://404" } };
    await expect(narrow.resource("status://404")).rejects.toMatchObject(refused);
    const ref = { type: "ref/resource", uri: "status://404" } as const;
    const input = { ref, argument: { name: "x", value: "" } };
    const completer = narrow.resolve({ kind: "completion", name: ref.uri, input });
    await expect(completer).rejects.toMatchObject(refused);
    expect((await narrow.resource("x://1")).servlet?.name).toBe("any");
  }
});

test("a list of run time takes no URI that another list has", async () => {
  const listed = servlet("static", { uris: ["x://1"], templates: ["x://{id}/more"] });
  const given = { uris: ["x://1"], templates: ["x://{id}/more"] };
  const { lists: stolen, ...dynamic } = servlet("dynamic", given);
  for (const servlets of orders([listed, dynamic as PreparedServlet])) {
    const registry = registryOf(servlets);
    Object.assign(registry.servlet(dynamic as PreparedServlet), {
      lists: () => true,
      list: async (kind: keyof Lists) => stolen![kind],
    });
    for (const uri of ["x://1", "x://1/more"])
      expect((await registry.resource(uri)).servlet?.name).toBe("static");
  }
});

test("a list of run time is asked for once for callers with different scopes", async () => {
  const { lists, ...dynamic } = servlet("dynamic", { uris: ["x://1", "x://2"] });
  const registry = registryOf([dynamic as PreparedServlet]);
  const asked: string[] = [];
  Object.assign(registry.servlet(dynamic as PreparedServlet), {
    lists: () => true,
    list: async (kind: keyof Lists) => (asked.push(kind), lists![kind]),
  });
  const seenBy = async (...scopes: string[]) => {
    const { resources } = await registry.within({ scopes }).catalog();
    return [...resources.keys()];
  };
  expect(await seenBy("dynamic:x://1")).toEqual(["x://1"]);
  expect(await seenBy("dynamic:*")).toEqual(["x://1", "x://2"]);
  expect(asked.toSorted()).toEqual(["prompts", "resourceTemplates", "resources", "tools"]);
});

describe("a servlet whose templates take too many steps", () => {
  const LONG = `y://${"a".repeat(2000)}`;
  const EXPENSIVE = Array.from({ length: 40 }, (_, at) => `y://${"{+a}".repeat(100)}!${at}`);
  const ALONE = /URI of 2004 characters takes more than 25000 steps/;
  beforeEach(() => configureLimits({ checkSteps: 50_000 }));
  afterEach(() => configureLimits(usual));

  test.each<[string, { uris?: string[]; templates?: string[] }]>([
    ["by a template", { templates: ["{+any}"] }],
    ["by its scheme", { uris: ["y://1"] }],
  ])("takes no resource from one that has it %s", async (_, offer) => {
    const expensive = servlet("expensive", { templates: EXPENSIVE });
    const { own, servlet: owner } = await registryOf([servlet("plain", offer), expensive]).resource(
      LONG,
    );
    expect({ own, name: owner?.name }).toEqual({
      own: LONG,
      name: offer.templates && "plain",
    });
  });

  test("is asked for a shorter URI", async () => {
    const mute = { ...servlet("expensive", { templates: EXPENSIVE }), exports: [] };
    const registry = registryOf([servlet("plain", { templates: ["x://{id}"] }), mute]);
    await expect(registry.resource(LONG)).rejects.toThrow(ALONE);
  });

  test("leaves steps to look for what others' templates fit", () => {
    const expensive = servlet("expensive", { templates: ["{+a}".repeat(400), ...EXPENSIVE] });
    const new_ = {
      ...servlet("new", { templates: ["{+any}"] }),
      parts: { module: "0".repeat(64) },
    };
    for (const before of orders([expensive, servlet("other", { uris: [LONG] })])) {
      const warnings = overlapsWith(new_, before).join("\n");
      expect(warnings).toContain("of new also fits");
    }
  });
});

describe("a template that fits what another servlet has", () => {
  const build = (one: PreparedServlet) => ({ ...one, parts: { module: "0".repeat(64) } });

  test.each<[string, string[], string[]]>([
    ["swallows all", ["{+any}"], ["docs://{+path}", "docs://index", "status://{code}"]],
    ["has a longer prefix", ["status://4{+rest}"], ["status://4{+rest}"]],
    ["is swallowed", ["docs://mine/{id}"], ["docs://mine/{id}"]],
    ["has another name in it", ["status://{number}"], ["status://{number}", "status://{code}"]],
  ])("is told of where it %s", (_, templates, named) => {
    for (const servlets of orders([ALL[1]!, ALL[3]!])) {
      const warnings = overlapsWith(build(servlet("new", { templates })), servlets);
      expect(warnings.length).toBeGreaterThan(0);
      for (const one of named) expect(warnings.join("\n")).toContain(one);
    }
  });

  test.each<[string, string[], string[], RegExp]>([
    [
      "the scheme of two",
      ["y://1"],
      ["y://2"],
      /^Beware: (a, new|new, a) all list resources of y:/,
    ],
    ["a scheme with the name of another", ["a:1"], [], /^Beware: new also lists resources of a:/],
    ["a name that others list", [], ["new://2"], /^Beware: a also lists resources of new:/],
    ["a host of two", ["https://x/1"], ["https://x/2"], /all list resources of https:\/\/x/],
  ])("is told of with %s", (_, uris, others, warning) => {
    const found = overlapsWith(build(servlet("new", { uris })), [servlet("a", { uris: others })]);
    expect(found).toEqual([expect.stringMatching(warning)]);
  });

  test("is told of where other templates leave no steps to find it", () => {
    const { checkSteps } = limits;
    configureLimits({ checkSteps: 5000 });
    const before = Array.from({ length: 40 }, (_, at) => "{+a}".repeat(100) + at);
    const mine = servlet("new", { templates: [...before, "{+any}"] });
    const warnings = overlapsWith(build(mine), [servlet("other", { uris: ["z://1"] })]);
    configureLimits({ checkSteps });
    expect(warnings.join("\n")).toMatch(
      /also fits z:\/\/1 of other|of new are too many or too long/,
    );
  });

  test("is not told of where it fits nothing else", () => {
    const mine = servlet("new", {
      templates: ["mine://{+any}", "mine://{id}"],
      uris: ["mine://1"],
    });
    expect(overlapsWith(build(mine), ALL.slice(1))).toEqual([]);
  });
});

describe("a URI that nobody lists is shown to", () => {
  /** The servlets that were asked for this URI, each of which knows nothing of it. */
  const asked = async (servlets: PreparedServlet[], uri: string, scopes?: string[]) => {
    const registry = registryOf(servlets).within(scopes ? { scopes } : {});
    const seen: string[] = [];
    for (const one of servlets) {
      Object.assign(registry.servlet(one), {
        readResource: async () => {
          seen.push(one.name);
          throw new Fault("not_found", "Unknown");
        },
      });
    }
    const found = await registry.resolve({ kind: "resource", name: uri });
    await expect(found.run(nobodysCall)).rejects.toMatchObject({
      code: "not_found",
    });
    return seen.toSorted();
  };
  const READERS = [
    servlet("shelf", { uris: ["docs://index"] }),
    servlet("pages", { templates: ["docs://books/{id}"] }),
    servlet("mine", { templates: ["owned:{id}/x"] }),
    servlet("diary", { templates: ["diary://{day}"] }),
    servlet("prying", { uris: ["diary://zzz", "quiet://2026"], templates: ["diary://2026/{x}"] }),
    servlet("quiet", {}),
    servlet("site", { uris: ["https://site.example/index"] }),
    servlet("wiki", { templates: ["https://wiki.example/{page}"] }),
    servlet("any-host", { templates: ["ftp://{host}/x"] }),
    servlet("one-host", { uris: ["ftp://one/y"] }),
    servlet("silent", {}),
    servlet("own", {}),
    servlet("https", {}),
    servlet("curious", { templates: ["{scheme}://secret/{id}/x/y/z"] }),
  ];

  test.each<[string, string[]]>([
    ["owned:other", ["mine"]],
    ["OWNED:other", ["mine"]],
    ["docs://new", ["pages", "shelf"]],
    ["docs://index/2", ["shelf"]],
    ["diary://2026/1/2", ["diary"]],
    ["diary://zzz/1", ["diary"]],
    ["DIARY://secret/1", ["diary"]],
    ["diary:secret", ["diary"]],
    ["quiet://1", ["quiet"]],
    ["quiet://2026/1", ["quiet"]],
    ["docs://books/1/2", ["pages"]],
    ["https://site.example/?token=1", ["site"]],
    ["https://wiki.example/a/b", ["wiki"]],
    ["https://wiki.example.evil/a", []],
    ["https://other.example/?token=1", []],
    ["ftp://one/z", ["any-host", "one-host"]],
    ["ftp://two/z", ["any-host"]],
    ["silent://x", ["silent"]],
    ["silently://x", []],
    ["nobody://x", []],
    ["nothing", []],
    ["curious-x:y", []],
  ])("%s: %s", async (uri, readers) => {
    for (const servlets of [READERS, READERS.toReversed()]) {
      expect(await asked(servlets, uri)).toEqual(readers);
      expect(await asked(servlets, uri, ["*:*"])).toEqual(readers);
      expect(await asked(servlets, uri, ["none:*"])).toEqual([]);
    }
  });

  test("no other servlet where the scopes refuse those that it could belong to", async () => {
    const scopes = READERS.flatMap(({ name }) => (name === "mine" ? [] : [`${name}:*`]));
    expect(await asked(READERS, "owned:other", scopes)).toEqual([]);
    expect(await asked(READERS, "docs://index/2", ["pages:*", "own:*"])).toEqual([]);
  });

  test("the servlets that list its scheme where the servlet of that name reads none", async () => {
    const mute = { ...servlet("x", {}), exports: ["call_tool"] };
    expect(await asked([mute, servlet("a", { uris: ["x://1"] })], "x://2")).toEqual(["a"]);
  });

  test("no other servlet where that of its name hides it", async () => {
    const hiding = servlet("x", {}, { skip_resources: ["x://7.*"] });
    expect(await asked([hiding, servlet("a", { uris: ["x://1"] })], "x://77")).toEqual([]);
  });

  test("no servlet that hides it", async () => {
    const hiding = servlet("a", { uris: ["x://1"] }, { skip_resources: ["x://[78]"] });
    expect(await asked([hiding], "x://7")).toEqual([]);
    expect(await asked([hiding], "x://9")).toEqual(["a"]);
  });

  test("no other servlet where its owner may not be used or knows nothing of it", async () => {
    const owner = servlet("owner", { uris: ["x://1"] });
    const servlets = [servlet("x", {}), owner, servlet("other", { uris: ["x://2"] })];
    expect(await asked(servlets, "x://1")).toEqual(["owner"]);
    const narrow = registryOf(servlets).within({ scopes: ["other:*", "x:*"] });
    const read = narrow.resolve({ kind: "resource", name: "x://1" });
    await expect(read).rejects.toMatchObject({ code: "insufficient_scope" });
  });
});
