import { beginTool, SAID, type Json } from "./client.ts";

/** Plans for the test servlet `durable`: lists of steps. */

export const HOUR = 3_600_000;

export const steps = (...all: Json[]) => ({ steps: all });
/** Begins a call that asks. */
export const planned = (...all: Json[]) => beginTool("plan", steps(...all));
/** Outcome of each step. */
export const saidIn = ({ result }: { result?: Json }) =>
  (result?.["structuredContent"] ?? writtenIn(result))?.said;

/** The outcomes that a result holds as text: older revisions have no structured content. */
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

/** A step that asks, the request that its client sees, the client's answer, and the value that the servlet receives. */
export type Asking = [step: Json, request: Json, answer: Json, said: unknown];

/** Requests that are the same with and without a session. */
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
