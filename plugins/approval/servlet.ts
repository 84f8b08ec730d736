/** Has the user approve something, however long they take. */
import { AskError, defineServlet, ToolError } from "edge-servlets/servlet";

/** Two days each at most, so that the last reminder comes within the week that a task is kept. */
const ASKS = 3;
const DAY = 86_400;

const YES = "Yes, it may be done";

const FORM = {
  type: "object",
  properties: {
    approve: { type: "boolean", title: "Approve", description: YES },
    note: { type: "string", title: "Note", description: "Conditions, or why not", maxLength: 1000 },
  },
  required: ["approve"],
} as const;

const OUTCOMES = {
  approved: "Approved",
  rejected: "Not approved",
  unanswered: "Nobody has answered, so do not do it",
};

export default defineServlet({
  views: {
    approval: {
      file: "./approval.tsx",
      title: "Approval",
      description: "What is to be approved, by whom and until when; approve or reject, with a note",
    },
  },
  tools: {
    request_approval: {
      title: "Request the user's approval",
      view: "approval",
      description:
        "Asks the user to approve something before it is done, and waits for the answer: days, if need be, with reminders. Do it only where the outcome is `approved`, and keep to the conditions in the note.",
      input: {
        type: "object",
        properties: {
          what: { type: "string", minLength: 1, maxLength: 2000, description: "What to approve" },
          amount: { type: "string", description: "What it costs, such as 120 EUR" },
          remind_after_seconds: {
            type: "integer",
            minimum: 1,
            maximum: 2 * DAY,
            default: DAY,
            description: `When to ask again a user who has not answered, ${ASKS} times in all. Needs a client that takes tasks; with others the user is asked once.`,
          },
        },
        required: ["what"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          outcome: { type: "string", enum: ["approved", "rejected", "unanswered"] },
          note: { type: "string", description: "What the user says to it, or nothing" },
          asked: { type: "integer", description: "How often the user was asked" },
          ended: { type: "string", description: "When it was settled, as in ISO 8601" },
        },
        required: ["outcome", "note", "asked", "ended"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
      async handler({ what, amount, remind_after_seconds = DAY }, context) {
        const matter = amount === undefined ? what : `${what} (${amount})`;
        const end = (outcome: keyof typeof OUTCOMES, asked: number, note = "") => {
          const text = `${OUTCOMES[outcome]}: ${matter}${note && ` (the user: "${note}")`}`;
          const structuredContent = { outcome, note, asked, ended: new Date().toISOString() };
          return { content: [{ type: "text" as const, text }], structuredContent };
        };
        const { extensions = {} } = context.client.capabilities;
        const asks = "io.modelcontextprotocol/tasks" in (extensions as object) ? ASKS : 1;
        const wait = remind_after_seconds * 1000;
        for (let asked = 1; asked <= asks; asked++) {
          const due = Date.now() + wait;
          context.progress(asked - 1, asks, `Waits for an answer; asked ${asked} of ${asks} times`);
          const by = context.client.name === undefined ? "" : `Asked by ${context.client.name}. `;
          const until = `${new Date(due).toISOString().slice(0, 16).replace("T", " ")} UTC`;
          const wanted = by + (asks > 1 ? `It waits until ${until}.` : "It waits for your answer.");
          const approve = { ...FORM.properties.approve, description: `${YES}. ${wanted}` };
          const form = {
            message: `${asked === 1 ? "Please approve" : "Reminder: please approve"}: ${matter}`,
            schema: { ...FORM, properties: { ...FORM.properties, approve } },
            view: "approval",
            ...(asks > 1 && { timeout: wait }),
          };
          const { action, content } = await context.elicit(form).catch((error: unknown) => {
            // A missing capability is a protocol error, where the protocol has one for it.
            if (!(error instanceof AskError) || error.data) throw error;
            const undecided = `Nobody has decided, so do not do it: ${matter}.`;
            throw new ToolError(`${undecided} ${error.message}`);
          });
          if (content) return end(content.approve ? "approved" : "rejected", asked, content.note);
          if (action === "decline") return end("rejected", asked);
          // Dismissed, or left open until the reminder is due: then nothing of the wait is left.
          if (asked < asks) await context.sleep(due - Date.now());
        }
        return end("unanswered", asks);
      },
    },
  },
});
