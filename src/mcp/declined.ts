import type { Answers, Ask, Asks, Json } from "../model.ts";

/**
 * Answers for a client that cannot be asked, as the reference host does: the call goes on, and its
 * servlet sees that nobody said yes.
 */
export async function declined(asks: Asks): Promise<Answers> {
  return Object.fromEntries(Object.entries(asks).map(([key, ask]) => [key, refusal(ask)]));
}

/** The answer of a client that does not give one. */
export function refusal({ method }: Ask, why = "The client cannot be asked."): Json {
  switch (method) {
    case "elicitation/create":
      return { action: "decline", content: { error: why } };
    case "sampling/createMessage":
      return {
        role: "assistant",
        content: { type: "text", text: why },
        model: "none",
        stopReason: "error",
      };
    case "roots/list":
      return { roots: [] };
  }
}
