import { beginTool, SAID, type Json } from "./client.ts";

/** What the test servlet `durable` is told to do, step by step. */

export const HOUR = 3_600_000;

export const steps = (...all: Json[]) => ({ steps: all });
/** Begins a call that asks. */
export const planned = (...all: Json[]) => beginTool("plan", steps(...all));
/** What came of each step. */
export const saidIn = ({ result }: { result?: Json }) =>
  (result?.["structuredContent"] ?? writtenIn(result))?.said;

/** What a result has as text alone: older revisions have no structured content. */
function writtenIn(result: Json | undefined) {
  const text: unknown = result?.["content"]?.[0]?.text;
  return typeof text === "string" && text.startsWith("{") ? JSON.parse(text) : undefined;
}

/** The same step by a servlet that goes on where the client has no answer, and says why there is none. */
export const catching = (step: Json) => ({ ...step, catches: true });
export const ELICIT = { do: "elicit", message: "Who?" };
export const NIGHT = { do: "sleep", ms: 10 * HOUR };
export const log = (message: string) => ({ do: "log", message });
export const TOLD = [log("logged"), { do: "progress", message: "half" }];
export const http = (method: string, path: string) => ({
  do: "http",
  method,
  url: `https://world.example${path}`,
});

/** What asks, the request that its client sees, the answer to that, and what the servlet is told then. */
export type Asking = [step: Json, request: Json, answer: Json, said: unknown];

/** What is asked in the same way with and without a session. */
export const ASKING: Asking[] = [
  [
    { do: "elicit_url", message: "Pay", url: "https://pay.example/" },
    { params: { mode: "url", message: "Pay", url: "https://pay.example/" } },
    { action: "accept" },
    "accept",
  ],
  [
    { do: "sample", message: "Say it" },
    { method: "sampling/createMessage", params: { maxTokens: 10 } },
    SAID,
    SAID.content,
  ],
  [
    { do: "sample" },
    { method: "sampling/createMessage" },
    { ...SAID, content: [SAID.content] },
    SAID.content,
  ],
];
