/** Failures of requests to clients, in words for servlets and their callers. */
import type { Ask, AskFailure } from "../core/asks.ts";
import type { Json } from "../core/model.ts";
import { beginningOf } from "../core/text.ts";

/** Length of a client's error message as passed on to servlets and callers. */
const CLIENT_ERROR_CHARACTERS = 500;

/** The subject of each request. */
const WANTED: Record<Ask["method"], string> = {
  "elicitation/create": "an answer from the user",
  "sampling/createMessage": "a message from the client's model",
  "roots/list": "the client's roots",
};

const failure = (failed: AskFailure["failed"], { method }: Ask, why: string): AskFailure => ({
  failed,
  method,
  message: `This call needs ${WANTED[method]}, but ${why}`,
});

/** `why` says what is missing, and what to do next. */
export const cannotAsk = (ask: Ask, why: string, requiredCapabilities?: Json): AskFailure => ({
  ...failure("cannot-ask", ask, `its client cannot be asked: ${why}`),
  ...(requiredCapabilities && { requiredCapabilities }),
});

/** The failure of a request for a secret that the server does not have and that the caller cannot be asked for. */
export const lacksSecret = (ask: Ask, variable: string, why: string): AskFailure => ({
  ...failure("cannot-ask", ask, ""),
  message: `This call needs the secret ${variable}, which is not set on this server. Its owner sets it: in .dev.vars or the secrets file, or with npx wrangler secret put ${variable}. Its caller cannot be asked for a secret of their own: ${why}`,
});

/** `message` is the client's error message. */
export const clientError = (ask: Ask, message: string): AskFailure =>
  failure(
    "client-error",
    ask,
    `its client answered ${ask.method} with an error: ${beginningOf(message, CLIENT_ERROR_CHARACTERS)}`,
  );

/** `why` names the member that does not fit and what was expected. */
export const unusableAnswer = (ask: Ask, why: string): AskFailure =>
  failure(
    "unusable-answer",
    ask,
    `the client's answer to ${ask.method} cannot be used: it ${why}.`,
  );
