import { loadServlet, type Script } from "edge-servlets/testing";
import { describe, expect, test } from "vitest";

const approval = await loadServlet(import.meta.dirname);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const TAKES_TASKS = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};
const YES = { action: "accept", content: { approve: true } };

type Answers = NonNullable<NonNullable<Script["answers"]>["elicitation/create"]>;

/** Of the call, and of the same call interrupted after every step: it must come to the same. */
async function request(args: object, answers: Answers, script: () => Script = () => ({})) {
  const call = (alwaysReplay: boolean) =>
    approval.callTool(
      "request_approval",
      { what: "Paint the bridge", ...args },
      {
        capabilities: TAKES_TASKS,
        ...script(),
        answers: { "elicitation/create": answers },
        alwaysReplay,
      },
    );
  const { recorded, ...undisturbed } = await call(false);
  const { recorded: _, ...interrupted } = await call(true);
  expect(interrupted).toEqual(undisturbed);
  const { result, asked, notifications } = undisturbed;
  return {
    result: result.structuredContent,
    text: result.content.map((block) => (block.type === "text" ? block.text : block.type)).join(),
    asked: asked.map(({ params, timeoutMs }) => [params["message"], timeoutMs]),
    told: notifications.map(({ params }) => params?.["message"]),
    steps: recorded?.entries.map(({ what }) => what),
  };
}

describe("request_approval", () => {
  test("gives the user's yes, and asks with a form", async () => {
    const { asked } = await approval.callTool(
      "request_approval",
      { what: "Paint the bridge", amount: "120 EUR" },
      { answers: { "elicitation/create": [YES] } },
    );
    expect(asked).toMatchObject([
      {
        method: "elicitation/create",
        params: {
          mode: "form",
          message: "Please approve: Paint the bridge (120 EUR)",
          requestedSchema: { type: "object", required: ["approve"] },
        },
      },
    ]);
    expect(await request({ amount: "120 EUR" }, [YES])).toEqual({
      result: { outcome: "approved", note: "", asked: 1, ended: "1970-01-01T00:00:00.000Z" },
      text: "Approved: Paint the bridge (120 EUR)",
      asked: [["Please approve: Paint the bridge (120 EUR)", DAY]],
      told: ["Waits for an answer; asked 1 of 3 times"],
      steps: ["elicitation/create"],
    });
  });

  test.each([
    [
      { action: "accept", content: { approve: true, note: "In red." } },
      { outcome: "approved", note: "In red." },
      'Approved: Paint the bridge (the user: "In red.")',
    ],
    [
      { action: "accept", content: { approve: false, note: "Too dear." } },
      { outcome: "rejected", note: "Too dear." },
      'Not approved: Paint the bridge (the user: "Too dear.")',
    ],
    [
      { action: "decline" },
      { outcome: "rejected", note: "", asked: 1 },
      "Not approved: Paint the bridge",
    ],
  ])("%j ends it", async (answer, result, text) => {
    expect(await request({}, [answer])).toMatchObject({
      result,
      text,
      steps: ["elicitation/create"],
    });
  });

  test.each(["cannot-ask", "client-error", "unusable-answer"] as const)(
    "reports no decision where nobody has made one: %s",
    async (failed) => {
      for (const first of [[], [{ action: "cancel" }]]) {
        const { result } = await approval.callTool(
          "request_approval",
          { what: "Paint the bridge" },
          {
            capabilities: TAKES_TASKS,
            answers: { "elicitation/create": [...first, { failed, message: "No answer." }] },
          },
        );
        const text = "Nobody has decided, so do not do it: Paint the bridge. No answer.";
        expect(result).toEqual({ content: [{ type: "text", text }], isError: true });
      }
    },
  );

  test("leaves a lack of the client to the protocol", async () => {
    const requiredCapabilities = { elicitation: {} };
    const script = {
      answers: { "elicitation/create": [{ failed: "cannot-ask" as const, requiredCapabilities }] },
    };
    const called = approval.callTool("request_approval", { what: "Paint the bridge" }, script);
    await expect(called).rejects.toMatchObject({
      code: "missing_capability",
      data: { requiredCapabilities },
    });
  });

  test("asks again when the reminder is due where the user dismissed it", async () => {
    const answers = [{ action: "cancel" }, YES];
    expect(await request({ remind_after_seconds: 3600 }, answers)).toMatchObject({
      result: { outcome: "approved", asked: 2, ended: "1970-01-01T01:00:00.000Z" },
      asked: [
        ["Please approve: Paint the bridge", HOUR],
        ["Reminder: please approve: Paint the bridge", HOUR],
      ],
      told: ["Waits for an answer; asked 1 of 3 times", "Waits for an answer; asked 2 of 3 times"],
      steps: ["elicitation/create", "sleep", "elicitation/create"],
    });
  });

  test("asks again at once where it was left open until then, and gives up in the end", async () => {
    let time = 0;
    const script = () => {
      time = 0;
      return { now: () => time };
    };
    const leftOpen = () => {
      time += DAY;
      return { action: "cancel" };
    };
    expect(await request({}, leftOpen, script)).toMatchObject({
      result: { outcome: "unanswered", note: "", asked: 3, ended: "1970-01-04T00:00:00.000Z" },
      text: "Nobody has answered, so do not do it: Paint the bridge",
      asked: [{ 1: DAY }, { 1: DAY }, { 1: DAY }],
      steps: ["elicitation/create", "elicitation/create", "elicitation/create"],
    });
  });

  test("asks once, and with no end, through a client that takes no tasks", async () => {
    const script = () => ({ capabilities: { elicitation: {} } });
    expect(await request({}, [{ action: "cancel" }], script)).toMatchObject({
      result: { outcome: "unanswered", asked: 1 },
      asked: [["Please approve: Paint the bridge", undefined]],
      steps: ["elicitation/create"],
    });
  });

  test.each([{ what: "" }, { remind_after_seconds: 0 }, { remind_after_seconds: 172_801 }])(
    "refuses %j",
    async (args) => {
      const { result } = await approval.callTool("request_approval", { what: "x", ...args });
      expect(result.isError).toBe(true);
    },
  );
});
