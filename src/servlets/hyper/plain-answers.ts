import { Fault } from "../../errors.ts";
import type { Answer, AskFailure } from "../../asks.ts";
import type { Json } from "../../model.ts";

/**
 * Answers for guests that know results only, in the shapes that hyper-mcp's host gives them. Guests that
 * are to tell failures from answers call `ask_client`, or look into `request.inputAnswers`.
 */

/**
 * The result that stands for an answer. A client that cannot be asked declines, as on hyper-mcp's host;
 * after any other failure the user has not decided, so the request was cancelled.
 *
 * Throws `missing_capability` where the failure ends the call of such a guest.
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
