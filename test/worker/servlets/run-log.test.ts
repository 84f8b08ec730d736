import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { FAULT_CODES } from "../../../src/server/kernel/core/errors.ts";
import { failureOf } from "../../../src/server/kernel/servlets/failures.ts";
import { bundle, called, UNSET, withManifest, written } from "../run-log-lines.ts";

/** The line of the log that says why a call failed. */

afterEach(() => vi.restoreAllMocks());

const about = { principal: "anonymous", id: expect.anything(), time: expect.stringMatching(/^20/) };

describe("a call that fails has one line, with what failed and what to do", () => {
  test.each([
    ["throws", "broken", "threw", /^Uncaught Error: oh no\n.*script\/servlet\.ts/s, /Fix/],
    ["ends with an error", "refuse", "refused", /^$/, /Call the tool/],
    ["crashes", "trap", "trapped", /^The servlet crashed.*\n.*unreachable/s, /Fix/],
    ["recurses", "recurse", "trapped", /too deeply/, /Fix/],
    ["returns no JSON", "not_json", "servlet_failed", /not JSON/, /Fix/],
    ["returns what its schema refuses", "bad_structure", "servlet_failed", /`n`/, /Fix/],
    [
      "fetches from a host that is not allowed",
      "forbidden_host",
      "refused",
      /allowed_hosts/,
      /Call/,
    ],
    ["chooses an error code", "own_error", "servlet_error", /^$/, /Call the tool/],
    ["awaits what never settles", "stuck", "refused", /^$/, /Call the tool/],
  ])("%s", async (_what, tool, outcome, message, advice) => {
    const lines = await called(tool);
    expect(lines).toHaveLength(1);
    const line = JSON.parse(lines[0]!);
    expect(line).toMatchObject({
      ...about,
      subject: tool,
      servlet: expect.stringMatching(/^(script|faulty)$/),
      outcome,
      advice: expect.stringMatching(advice),
    });
    // What the servlet has said to its caller alone is not in it.
    expect(line.message ?? "").toMatch(message);
  });

  test("lacks a setting", async () => {
    const lines = await called("greet", { name: "Ada" }, {}, UNSET);
    expect(lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        ...about,
        servlet: "hello",
        subject: "greet",
        outcome: "not_configured",
        message: expect.stringContaining("ISSUES_API"),
        advice: expect.stringContaining("wrangler secret put"),
      }),
    ]);
  });

  test("has arguments that its schema refuses, which are not in the line", async () => {
    const [line, ...others] = await called("greet", { name: 7, hush: "secretary" });
    expect(others).toEqual([]);
    expect(JSON.parse(line!)).toMatchObject({
      ...about,
      servlet: "hello",
      subject: "greet",
      outcome: "invalid_arguments",
    });
    expect(line).not.toMatch(/hush|secretary/);
  });

  test("also as text, and where runs are not logged", async () => {
    for (const RUN_LOG of ["text", "off"]) {
      const lines = await called("broken", {}, { RUN_LOG });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /anonymous: script broken threw .*Uncaught Error: oh no\n +at.*servlet\.ts/s,
      );
      expect(await called("greet", { name: "Ada" }, { RUN_LOG })).toHaveLength(
        RUN_LOG === "off" ? 0 : 1,
      );
    }
  });
});

test("a call that succeeds has a line without a message, whatever its servlet has logged", async () => {
  const [line] = await called("greet", { name: "Ada" });
  expect(JSON.parse(line!)).not.toHaveProperty("message");
});

test("of calls that succeed a share is logged, and all that fail", async () => {
  const counts = async (RUN_LOG_SAMPLE: string, chance: number) => {
    const lines = [];
    for (const [tool, args] of [["greet", { name: "Ada" }], ["broken"]] as const) {
      vi.spyOn(Math, "random").mockReturnValue(chance);
      lines.push(await called(tool, args, { RUN_LOG_SAMPLE }));
    }
    return lines.map(({ length }) => length);
  };
  expect(await counts("0", 0)).toEqual([0, 1]);
  expect(await counts("0.5", 0.4)).toEqual([1, 1]);
  expect(await counts("0.5", 0.6)).toEqual([0, 1]);
  expect(await counts("1", 0.9)).toEqual([1, 1]);
  expect(await counts("1e-9", 1e-8)).toEqual([0, 1]);
});

test.each(["5", "-1", "1.01", "abc", "", "NaN", "1e999", "true", "null", "[0]", '"1"', 5])(
  "a share of %j is refused",
  (share) => {
    const settings: object = { RUN_LOG_SAMPLE: share };
    expect(() => new Kernel(bundle, { ...env, ...settings })).toThrow("RUN_LOG_SAMPLE");
  },
);

test("each outcome has words and advice of its own for an operator", () => {
  const outcomes = [...FAULT_CODES, "invalid_arguments", "refused", "threw", "trapped"];
  for (const outcome of outcomes) {
    const { what, advice } = failureOf(outcome);
    expect([outcome, what]).toEqual([outcome, expect.stringMatching(/^[A-Z].{5,40}[^.]$/)]);
    expect([outcome, advice]).toEqual([outcome, expect.stringMatching(/^[A-Z].{20,300}\.$/)]);
  }
  const isOwn = (outcome: string) => failureOf(outcome) === failureOf("refused");
  expect(outcomes.filter(isOwn)).toEqual(["servlet_error", "refused"]);
  const ours = outcomes.filter((outcome) => failureOf(outcome).isOurs);
  expect(ours.toSorted()).toEqual([
    "internal",
    "not_configured",
    "servlet_failed",
    "storage_full",
    "threw",
    "too_many",
    "trapped",
    "unavailable",
  ]);
});

describe("a server that lacks a setting", () => {
  const NEEDS = withManifest({
    env_vars: { api: "${ISSUES_API}/${ISSUES_PATH:-v1}", twice: "${ISSUES_API}", not: "$${NAME}" },
    allowed_secrets: [{ service: "git", user: "bot" }],
  });
  const started = (settings: object) =>
    written(async () => {
      const server = createApp(new Kernel(NEEDS, { ...env, AUTH: "none", ...settings }));
      for (const path of ["/health", "/health"])
        await server.fetch(new Request(`http://localhost:8787${path}`));
    });

  test("says so at its first request, once, with how to set it", async () => {
    expect(await started({})).toEqual([
      expect.stringMatching(
        /: hello needs ISSUES_API, GIT_BOT\..*\.dev\.vars.*wrangler secret put/,
      ),
    ]);
    expect(await started({ ISSUES_API: "" })).toHaveLength(1);
    expect(await started({ ISSUES_API: "x", GIT_BOT: "y" })).toEqual([]);
  });
});
