import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import type { JournalEntry } from "../../../src/server/kernel/core/record.ts";
import { Suspended, Wait } from "../../../src/server/kernel/core/suspension.ts";
import { Registry } from "../../../src/server/kernel/servlets/registry.ts";
import { bundle } from "../../bundle.gen.ts";
import { call, list, server, serverOf, valueOf, type Json } from "./client.ts";

/** Credentials of a call reach its tool, and nothing else. */
const TOKEN = "tok3n-á\"'\\-of-google";
const SECRET = "s3cr3t\n-of-twilio-which-is-longer";
const CONTEXT = {
  authorization: [{ id: "google", token: TOKEN }],
  secrets: [{ id: "TWILIO_API_KEY", value: SECRET }],
  user_id: "ada.lovelace-1815",
};

/** Every form in which one might be written; pieces, for lines are cut. */
const FORMS = [TOKEN, SECRET]
  .flatMap((one) => [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one)])
  .flatMap((one) => [one, one.slice(0, 6)]);

const found = (text: string) => FORMS.filter((form) => text.includes(form));

let logged: string[];

beforeEach(() => {
  logged = [];
  for (const level of ["error", "warn", "info", "log", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation((...all: unknown[]) => {
      logged.push(all.map((one) => (one instanceof Error ? `${one.stack}` : String(one))).join());
    });
  }
});
afterEach(() => vi.restoreAllMocks());

describe("a tool gets", () => {
  test("its credentials, by config, keyring and token", async () => {
    expect(valueOf(await call("otc.Look", {}, { context: CONTEXT }))).toEqual({
      google: TOKEN,
      key: SECRET,
      user: "ada.lovelace-1815",
      other: "the deployment's",
      bySecret: SECRET,
      byVariable: SECRET,
      byService: SECRET,
      byToken: { access_token: TOKEN, expires_at: null, scopes: null },
      byClient: { access_token: TOKEN, expires_at: null, scopes: ["read"] },
      principal: "anonymous",
      meta: {},
    });
  });

  test("nothing else that the call brings: the rest is the deployment's", async () => {
    const context = {
      ...CONTEXT,
      secrets: [...CONTEXT.secrets, { id: "other", value: "mine" }, { id: "extra", value: "mine" }],
      authorization: [...CONTEXT.authorization, { id: "extra", token: "mine" }],
    };
    const value = valueOf(await call("otc.Look", {}, { context }));
    expect(value).toMatchObject({ other: "the deployment's" });
    expect(value).not.toHaveProperty("extra");
  });

  test("it for that call alone", async () => {
    await call("otc.Look", {}, { context: CONTEXT });
    const context = {
      ...CONTEXT,
      user_id: "eve",
      authorization: [{ id: "google", token: "eve's" }],
    };
    expect(valueOf(await call("otc.Look", {}, { context }))).toMatchObject({
      google: "eve's",
      user: "eve",
    });
  });
});

const LEAKS = [
  "log",
  "cut",
  "json",
  "tell",
  "throw",
  "refuse",
  "result",
  "ask",
  "host",
  "header",
  "trap",
];
/** Those whose failure the log tells, too. */
const LOGGED_TOO = new Set(["throw", "header"]);
const durable = serverOf();

describe.each([
  ["in the request", server, false],
  ["with a call_id", durable, true],
])("run %s, it appears in no message", (_, at, isKept) => {
  test.each(LEAKS)("by a tool that would: %s", async (how) => {
    const more = { context: CONTEXT, ...(isKept && { call_id: `leak-${how}` }) };
    const answer = await call("otc.Leak", { how }, more, at);
    expect(answer.status).toBe(200);
    expect(answer.result).toHaveProperty("success");
    expect(found(JSON.stringify(answer))).toEqual([]);
    expect(found(logged.join("\n"))).toEqual([]);
    const isLogged = ["log", "cut", "json"].includes(how);
    expect(logged.join().includes("[hidden]")).toBe(isLogged || LOGGED_TOO.has(how));
    expect(answer.result!["success"]).toBe(isLogged || how === "tell");
  });
});

describe.each([
  ["in the request", server, {}],
  ["with a call_id", durable, { call_id: "odd" }],
])("%s, a value that is no secret is refused and repeated nowhere", (_, at, more) => {
  const long = "l0ng(".repeat(20_000);
  test.each<[string, object]>([
    ["a secret of 100 KB", { secrets: [{ id: "TWILIO_API_KEY", value: long }] }],
    [
      "a secret with a lone surrogate",
      { secrets: [{ id: "TWILIO_API_KEY", value: "l0ng(\ud800" }] },
    ],
    ["a token of 100 KB", { authorization: [{ id: "google", token: long }] }],
    ["a token with a lone surrogate", { authorization: [{ id: "google", token: "l0ng(\udc00" }] }],
    ["a user of 100 KB", { user_id: long }],
    ["an id with a lone surrogate", { secrets: [{ id: "l0ng(\ud800", value: "x" }] }],
  ])("%s: 400", async (_name, wrong) => {
    const answer = await call("otc.Look", {}, { context: { ...CONTEXT, ...wrong }, ...more }, at);
    expect(answer.status).toBe(400);
    expect(answer["message"]).toMatch(/^request\.context\.\S+ must /);
    expect(JSON.stringify(answer) + logged.join()).not.toMatch(/l0ng|bDBuZy/);
  });
});

test("an error of the server's own that quotes it is logged without it", async () => {
  const objects = env.CALL_RECORDS!;
  vi.spyOn(objects, "getByName").mockImplementation(() => {
    throw new Error(`Cannot send\n${TOKEN}`, { cause: new Error(`for ${SECRET}`) });
  });
  const answer = await call("otc.Look", {}, { context: CONTEXT, call_id: "fails" }, serverOf());
  expect(answer.status).toBe(500);
  expect(found(JSON.stringify(answer))).toEqual([]);
  expect(found(logged.join("\n"))).toEqual([]);
  expect(logged.join("\n")).toMatch(/Cannot send\n {2}\[hidden\][^]*for \[hidden\]/);
});

test("no stored row has it, not even where the tool gives it back", async () => {
  const objects = env.CALL_RECORDS!;
  const ids: DurableObjectId[] = [];
  const { getByName } = objects;
  vi.spyOn(objects, "getByName").mockImplementation((name) => {
    const stub = getByName.call(objects, name);
    ids.push(stub.id);
    return stub;
  });
  const own = serverOf();
  const answer = await call("otc.Look", {}, { context: CONTEXT, call_id: "rows" }, own);
  expect(valueOf(answer)).toMatchObject({ google: TOKEN });
  expect(ids).toHaveLength(1);
  const rows = await runInDurableObject(objects.get(ids[0]!), (_, { storage: { sql } }) =>
    sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
      .toArray()
      .filter(({ name }) => !name.startsWith("_cf"))
      .flatMap(({ name }) => sql.exec(`SELECT * FROM ${name}`).toArray()),
  );
  const text = rows
    .flatMap((row) => Object.values(row))
    .map((cell) =>
      cell instanceof ArrayBuffer ? new TextDecoder("latin1").decode(cell) : String(cell),
    )
    .join("\n");
  expect(text.length).toBeGreaterThan(100);
  expect(found(text)).toEqual([]);
  expect(text).not.toContain("ada.lovelace-1815");
});

test("no journal has it", async () => {
  const registry = new Registry(bundle, { variables: {}, logLevel: "info", log: () => {} });
  const { versions } = await registry.catalog();
  const entry = (own: string) =>
    versions.find(({ servlet, own: name }) => servlet.name === "otc" && name === own)!;
  const kept: JournalEntry[] = [];
  const context: CallContext = {
    id: "1",
    meta: {},
    principal: { name: "anonymous" },
    client: { capabilities: {} },
    signal: () => new AbortController().signal,
    notify: () => {},
    ask: (asks) => Promise.reject(new Wait({ kind: "input", asks, given: {} })),
    credentials: {
      tokens: new Map([["google", TOKEN]]),
      secrets: new Map([["TWILIO_API_KEY", SECRET]]),
      userId: "ada.lovelace-1815",
    },
    keeper: {
      begin: async () => {},
      intend: async () => false,
      keep: async (_position, one) => void kept.push(one),
    },
  };
  const outcome = await registry.entryOf(entry("Leak"), { how: "ask" }).run(context);
  if (!(outcome instanceof Suspended)) throw new Error("it was not interrupted");
  expect(outcome.recorded?.entries).toEqual([]);
  expect(found(JSON.stringify([outcome.recorded, kept]))).toEqual([]);
  await registry.entryOf(entry("Look"), {}).run(context);
  expect(found(JSON.stringify(kept))).toEqual([]);
});

test("the list tells what is needed, and nothing that anybody has lent", async () => {
  await call("otc.Look", {}, { context: CONTEXT });
  const { tools } = await list();
  expect(found(JSON.stringify(tools))).toEqual([]);
  expect(tools.find(({ id }: Json) => id === "otc.Look@1.0.0").requirements).toEqual({
    authorization: [{ id: "google", oauth2: { scopes: ["read"] } }],
    secrets: [{ id: "TWILIO_API_KEY" }],
    user_id: true,
  });
});
