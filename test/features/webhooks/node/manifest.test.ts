import { describe, expect, test } from "vitest";
import { permissionsOf } from "../../../../src/server/features/installs/permissions.ts";
import type { Manifest } from "../../../../src/server/kernel/servlets/manifest.ts";
import { describeMissing, unusedIn } from "../../../../src/server/kernel/servlets/variables.ts";
import { checkManifest } from "../../../../src/tools/bundle/scan.ts";

/** Webhooks in manifests: what is refused, and what people are told of them. */

const check = (verify: unknown, name = "a") =>
  checkManifest("servlet.json", { webhooks: { [name]: { verify } } });

const SECRET = { secret: "A_SECRET" };
const HMAC = {
  type: "hmac",
  ...SECRET,
  header: "X-Signature",
  algorithm: "sha256",
  encoding: "hex",
  signed: "{body}",
};

test.each<[string, object]>([
  ...["github", "stripe", "slack", "standard"].map((type): [string, object] => [
    type,
    { type, ...SECRET },
  ]),
  ["a tolerance", { type: "slack", ...SECRET, toleranceSeconds: 60 }],
  ["an HMAC", HMAC],
  [
    "an HMAC with all that it may have",
    {
      ...HMAC,
      prefix: "v1=",
      signed: "v0:{id}:{timestamp}:{body}",
      timestamp: "X-Time",
      id: "X-Id",
      status: 200,
    },
  ],
  ["an HMAC whose id is not signed", { ...HMAC, id: "X-Id" }],
  ["nothing, on purpose", { type: "none" }],
])("a webhook may verify by %s", (_name, verify) => {
  expect(check(verify).webhooks).toEqual({ a: { verify } });
});

describe("is refused, and says what to write", () => {
  test.each<[string, unknown, RegExp]>([
    ["no verification", undefined, /says how deliveries are verified, for example \{"type": "git/],
    ["no type", {}, /The types are github, stripe, slack, standard, hmac, and none/],
    ["an unknown type", { type: "gitlab", ...SECRET }, /The types are github/],
    ["no secret", { type: "github" }, /secret/],
    ["the secret itself", { type: "github", secret: "whsec_a/b=" }, /never the secret itself/],
    ["a secret of the server", { type: "github", secret: "STATE_KEY" }, /belongs to the server/],
    ["a tolerance of nothing", { type: "slack", ...SECRET, toleranceSeconds: 0 }, /at least 1/],
    ["a tolerance of a week", { type: "slack", ...SECRET, toleranceSeconds: 6e5 }, /at most a day/],
    ["a key that is misspelt", { type: "github", ...SECRET, tolerance: 5 }, /tolerance/],
    ["a status that is no success", { ...HMAC, status: 500 }, /must be 200 or 202/],
    ["no header", { ...HMAC, header: undefined }, /header/],
    ["a header that is none", { ...HMAC, header: "X Signature" }, /must be the name of a header/],
    ["a weak hash", { ...HMAC, algorithm: "md5" }, /sha256/],
    ["a signature without the body", { ...HMAC, signed: "{timestamp}" }, /must have \{body\} once/],
    ["the body twice", { ...HMAC, signed: "{body}{body}" }, /must have \{body\} once/],
    ["an unknown part", { ...HMAC, signed: "{url}{body}" }, /signed has \{url\}; its parts are/],
    [
      "a time without its header",
      { ...HMAC, signed: "{timestamp}.{body}" },
      /say in timestamp which header/,
    ],
    ["a time that is not signed", { ...HMAC, timestamp: "X-Time" }, /a header that is not signed/],
    ["a secret where nothing is verified", { type: "none", ...SECRET }, /secret/],
  ])("%s", (_name, verify, message) => {
    expect(() => check(verify)).toThrow(message);
  });

  test.each(["A", "a b", "", "../a", "a/b", "-a", "a".repeat(65)])("the name %o", (name) => {
    expect(() => check({ type: "none" }, name)).toThrow(/small letters, digits/);
  });
});

const manifest = {
  webhooks: {
    orders: { verify: HMAC },
    open: { verify: { type: "none" } },
  },
} as Manifest;

test("whoever approves an install sees the webhooks, and which take anything from anybody", () => {
  const lines = permissionsOf({ manifest, lists: undefined, skills: undefined } as never);
  expect(lines).toContain(
    "It receives requests of other services at these webhooks: orders (verified by the HMAC in X-Signature with the Worker's A_SECRET), open (takes deliveries from anybody, without verification).",
  );
});

test("a secret that is missing is named, and one that is set counts as used", () => {
  const servlets = [{ name: "shop", manifest }];
  expect(describeMissing(servlets, () => false)).toContain("shop needs A_SECRET");
  expect(describeMissing(servlets, () => true)).toBeUndefined();
  expect(unusedIn(servlets, ["A_SECRET"])).toEqual([]);
});
