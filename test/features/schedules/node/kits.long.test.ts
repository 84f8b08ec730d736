import { describe, expect, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";

/** Schedules in the kits of TypeScript and Python. */

const FOLDER = "test/features/schedules/node/servlets";
const [typescript, python] = await Promise.all([
  loadServlet(`${FOLDER}/typescript`),
  loadServlet(`${FOLDER}/python`),
]);

/** A script whose server keeps what it was asked for, and answers as the real one does. */
function scripted() {
  const asked: unknown[] = [];
  const made = (given: object) => ({
    arguments: {},
    ...given,
    next: 1_893_484_800_000,
    last: null,
  });
  const answer = (payload: unknown) => {
    asked.push(payload);
    return made(payload as object);
  };
  const hostFunctions = {
    "schedules.add": answer,
    "schedules.list": () => [made({ id: "own", tool: "say", every: 7_200_000 })],
    "schedules.cancel": (payload: unknown) => (payload as { id: string }).id === "own",
  };
  return { asked, script: { hostFunctions } };
}

const text = ({ result }: { result: { content: unknown[] } }) =>
  (result.content[0] as { text: string } | undefined)?.text ?? "";

const ID = expect.stringMatching(/^[\da-f]{16}$/);

describe("in TypeScript", () => {
  test.each([
    ["at", { id: ID, at: "2030-01-01T08:00:00.000Z" }],
    ["every", { id: ID, every: 7_200_000 }],
    ["cron", { id: ID, cron: "0 8 * * *", timeZone: "Europe/Berlin" }],
  ])("a schedule is made: %s", async (kind, given) => {
    const { asked, script } = scripted();
    const { result } = await typescript.callTool("plan", { kind }, script);
    expect(asked).toEqual([{ tool: "say", arguments: { text: "x" }, ...given }]);
    expect(result.structuredContent).toMatchObject({ next: "2030-01-01T08:00:00.000Z" });
  });

  test("a call that is repeated makes the same schedule", async () => {
    const { asked, script } = scripted();
    const { recorded } = await typescript.callTool("plan", { kind: "every" }, script);
    const again = { ...script, recorded: { ...recorded!, entries: [] } };
    await typescript.callTool("plan", { kind: "every" }, again);
    expect(asked).toEqual([asked[0], asked[0]]);
  });

  test("schedules are listed and cancelled", async () => {
    const { script } = scripted();
    const { result } = await typescript.callTool("planned", {}, script);
    expect(result.structuredContent).toMatchObject({ all: [{ id: "own", every: 7_200_000 }] });
    expect(text(await typescript.callTool("forget", { id: "own" }, script))).toBe("true");
    expect(text(await typescript.callTool("forget", { id: "x" }, script))).toBe("false");
  });

  test("code runs when it is due", async () => {
    const due = new Date(0);
    expect(text(await typescript.runSchedule("digest", { due, missed: 3 }))).toBe(
      "1970-01-01T00:00:00.000Z 3",
    );
    expect((await typescript.runSchedule("silent")).result).toEqual({ content: [] });
    expect((await typescript.runSchedule("failing")).result).toMatchObject({ isError: true });
    await expect(typescript.runSchedule("nothing")).rejects.toThrow(
      'There is no schedule "nothing"',
    );
  });
});

describe("in Python", () => {
  test.each([
    ["at", { id: ID, at: "2030-01-01T09:00", timeZone: "Europe/Berlin", arguments: { text: "x" } }],
    ["every", { id: "own", every: 7_200_000 }],
    ["cron", { id: ID, cron: "0 8 * * *" }],
  ])("a schedule is made: %s", async (kind, given) => {
    const { asked, script } = scripted();
    const said = text(await python.callTool("plan", { kind }, script));
    expect(asked).toEqual([{ tool: "say", ...given }]);
    expect(said).toContain(
      "next=datetime.datetime(2030, 1, 1, 8, 0, tzinfo=datetime.timezone.utc)",
    );
  });

  test("schedules are listed and cancelled", async () => {
    const { script } = scripted();
    expect(text(await python.callTool("planned", {}, script))).toContain(
      "('own', datetime.timedelta(seconds=7200)",
    );
    expect(text(await python.callTool("forget", { id: "own" }, script))).toBe("true");
  });

  test("code runs when it is due", async () => {
    const due = new Date(0);
    expect(text(await python.runSchedule("digest", { due, missed: 3 }))).toBe(
      "1970-01-01T00:00:00+00:00 3 anonymous",
    );
    expect((await python.runSchedule("hourly")).result).toEqual({ content: [] });
    await expect(python.runSchedule("nothing")).rejects.toThrow('There is no schedule "nothing"');
  });
});
