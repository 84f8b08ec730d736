/** Why did a call fail, and what can its caller do? In plain words, for each of our error codes. */
import type { FaultCode } from "../core/errors.ts";

const AGAIN = "Call the tool again.";
const LATER = `Wait a little. ${AGAIN}`;
const TELL = "If it fails again, tell whoever runs this server.";
const CHANGE = "Change what it names, then call it again.";

/** Of the others nothing is known but what the server has said. */
const KNOWN: Partial<Record<string, readonly [why: string, next: string]>> = {
  tool: ["The tool could not do it, and says why.", CHANGE],
  servlet_error: ["The servlet refused it.", CHANGE],
  invalid_params: ["The call did not fit the tool.", CHANGE],
  not_found: ["What was called is not there.", "See Home for what this server offers."],
  servlet_failed: [
    "The servlet has a fault, or changed while the call waited.",
    `See the timeline for what it had done by then. ${AGAIN} ${TELL}`,
  ],
  internal: ["This server has a fault.", `${AGAIN} ${TELL}`],
  not_configured: [
    "A setting of the servlet is missing.",
    "Whoever runs this server has to set it.",
  ],
  unavailable: ["A service that the server needs did not answer.", LATER],
  too_many: ["A limit was reached.", LATER],
  too_large: ["It was too large.", "Call it with less at a time."],
  cancelled: ["It was stopped before it had ended.", AGAIN],
  not_acceptable: ["Your client stopped listening before it had ended.", AGAIN],
  missing_capability: [
    "Your client cannot do what the tool needs.",
    "Use another client, or try it on this server's Home.",
  ],
  unauthorized: ["Your sign-in was no longer valid.", `Sign in again. ${AGAIN}`],
  insufficient_scope: [
    "Your access does not include this tool.",
    "Whoever runs this server can extend it.",
  ],
} satisfies Partial<Record<FaultCode | "tool", readonly [string, string]>>;

/** By the code of a fault; of a call that ended before its code was kept, the JSON-RPC code. `tool` is a result that is an error. */
export function adviceFor(code: unknown): { why: string; next: string } {
  const [why, next] = KNOWN[String(code)] ?? [
    "The call was refused.",
    `Correct what is named here. ${TELL}`,
  ];
  return { why, next };
}
