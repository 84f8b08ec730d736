/** Why did a call fail, and what can its caller do? In plain words, for each of our error codes. */
import type { FaultCode } from "../core/errors.ts";

interface Advice {
  why: string;
  next: string;
}

const AGAIN = "Call the tool again.";
const ASK = "Ask whoever runs this server.";

const ALL: Partial<Record<FaultCode | "tool", readonly [why: string, next: string]>> = {
  tool: ["The tool could not do it, and says why.", "Change what it names, then call it again."],
  invalid_params: [
    "The call did not fit the tool.",
    "Correct what is named above, then call it again.",
  ],
  not_found: [
    "What was called is not there, or no longer.",
    "See Home for what this server offers.",
  ],
  servlet_error: ["The servlet refused it.", "Change what it names, then call it again."],
  servlet_failed: [
    "The servlet has a fault, or changed while the call waited.",
    `See the timeline for what it had done by then. ${AGAIN} If it fails again, tell whoever runs this server.`,
  ],
  not_configured: ["A setting of the servlet is missing.", `${ASK} They have to set it.`],
  unavailable: ["A service that the server needs did not answer.", `Wait a little. ${AGAIN}`],
  too_many: ["A limit was reached.", `Wait a little. ${AGAIN}`],
  too_large: ["It was too large.", "Call it with less at a time."],
  too_slow: ["It took too long.", "Call it with less at a time."],
  cancelled: ["It was stopped before it had ended.", AGAIN],
  missing_capability: [
    "Your client cannot do what the tool needs.",
    "Use a client that can, or try it on this server's Home.",
  ],
  unauthorized: ["Your sign-in was no longer valid.", `Sign in again. ${AGAIN}`],
  forbidden: ["You may not do this.", ASK],
  insufficient_scope: ["Your access does not include this tool.", `${ASK} They can extend it.`],
  page_required: [
    "It needs something that only a page can take.",
    "Open your account, then call again.",
  ],
  not_acceptable: ["Your client stopped listening before it had ended.", AGAIN],
  conflict: ["Something else changed the same thing.", AGAIN],
  internal: ["This server has a fault.", `${AGAIN} If it fails again, tell whoever runs it.`],
};

/** Of calls that ended before their code was kept: https://www.jsonrpc.org/specification#error_object */
const BY_RPC: Partial<Record<number, FaultCode>> = {
  [-32602]: "invalid_params",
  [-32603]: "servlet_failed",
};

/** Advice on a failure: its code, `tool` for a result that is an error, or the JSON-RPC code. */
export function adviceFor(code: unknown): Advice {
  const known = typeof code === "number" ? BY_RPC[code] : (code as FaultCode | "tool");
  const [why, next] = (known !== undefined && ALL[known]) || [
    "The call was not made as this server expects.",
    "Update your client, or tell its authors what is named above.",
  ];
  return { why, next };
}
