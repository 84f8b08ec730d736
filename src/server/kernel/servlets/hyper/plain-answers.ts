/**
 * Answers for guests that expect a result for each ask, in the shapes of hyper-mcp's host. Guests that distinguish
 * failures call `ask_client`, or read `request.inputAnswers`.
 */
import { Fault } from "../../core/errors.ts";
import type { Answer, AskFailure } from "../../core/asks.ts";
import type { Json } from "../../core/model.ts";

/**
 * The result, or a result that represents a failure. A client that cannot be asked counts as declining, as on
 * hyper-mcp's host; any other failure counts as cancelling, since the user has not decided.
 *
 * Throws `missing_capability` if the failure ends the call of such a guest.
 */
export function plainAnswer(answer: Answer): Json {
  if ("result" in answer) return answer.result;
  const { requiredCapabilities, message } = answer;
  if (requiredCapabilities === undefined) return standIn(answer);
  throw new Fault("missing_capability", message, { data: { requiredCapabilities } });
}

function standIn({ failed, method, message }: AskFailure): Json {
  switch (method) {
    case "elicitation/create":
      return {
        action: failed === "cannot-ask" ? "decline" : "cancel",
        content: { error: message },
      };
    case "sampling/createMessage":
      return {
        role: "assistant",
        content: { type: "text", text: message },
        model: "none",
        stopReason: "error",
      };
    case "roots/list":
      return { roots: [] };
  }
}
