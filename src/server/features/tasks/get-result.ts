/** The tool by which a client gets the result of a call that waits for a person. */
import type { CallContext } from "../../kernel/core/call-context.ts";
import type { HandedOver } from "../../kernel/calls/task-object.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";
import { limits } from "./limits.ts";
import { waitingFor } from "../../kernel/servlets/links.ts";
import { isObject, type CallToolResult, type Principal } from "../../kernel/core/model.ts";
import { errorResult, type OwnTool } from "../../kernel/servlets/own.ts";

export const getResult = (tasksOf: (principal: Principal) => Tasks): OwnTool => ({
  tool: {
    title: "Get the result of a call",
    description:
      "Returns the result of a call that waits for an answer from a person, or takes long, by the id that the call returned. Waits a while for it; where it is not there yet, says what is still needed.",
    inputSchema: {
      type: "object",
      properties: {
        id: { type: "string", minLength: 1, maxLength: 200, description: "The id of the call." },
      },
      required: ["id"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async run({ id }, call) {
    const task = String(id);
    const tasks = tasksOf(call.principal);
    const until = Date.now() + limits.resultWaitMs;
    let since = 0;
    for (let nth = 1; ; nth++) {
      // Bounded, since `until` is far away if the clock is set back.
      const ms = Math.min(Math.max(0, until - Date.now()), limits.resultWaitMs);
      const found = await tasks.handedOver(task, { since, ms: nth === 1 ? 0 : ms });
      if (found === undefined) return errorResult(UNKNOWN);
      const ended = endOf(found);
      if (ended !== undefined) return ended;
      if (ms === 0 || found.updated <= since || call.signal().aborted)
        return unfinished(task, found);
      tell(call, nth, found);
      since = found.updated;
    }
  },
});

const UNKNOWN =
  "No call with this id waits here for you: the id is wrong or of another caller, or the call has expired. Before you call the tool again, check whether the call has had its effect.";

/** The call's own result, or an error result; undefined while it runs or waits. */
function endOf({ view }: HandedOver): CallToolResult | undefined {
  const { status, result, error } = view;
  // Checked when the call ended.
  if (isObject(result)) return result as CallToolResult;
  if (isObject(error)) return errorResult(String(error["message"]));
  return status === "cancelled" ? errorResult("The call was cancelled.") : undefined;
}

function unfinished(id: string, { view, asks, url }: HandedOver): CallToolResult {
  if (Object.keys(asks).length > 0) {
    const { text, data } = waitingFor(asks, { url, id });
    return { content: [{ type: "text", text }], structuredContent: data };
  }
  const said = typeof view["statusMessage"] === "string" ? ` (${view["statusMessage"]})` : "";
  const text = `The call is still running${said}. Call get_result with id ${id} again in a moment.`;
  return { content: [{ type: "text", text }], structuredContent: { status: "working", id } };
}

/** Sends the state of the call as progress. */
function tell({ meta, notify }: CallContext, progress: number, { view }: HandedOver): void {
  const { progressToken } = meta;
  if (progressToken === undefined) return;
  const { status, statusMessage = status } = view;
  notify({
    method: "notifications/progress",
    params: { progressToken, progress, message: String(statusMessage) },
  });
}
