import {
  ACCOUNT_MODE,
  SECRET_MODE,
  type Answer,
  type Answers,
  type Ask,
  type Asks,
} from "../../core/asks.ts";
import { askByPage, ownAnswer } from "../../wasm/ask-by-page.ts";
import { limits } from "../../core/limits.ts";
import { isObject } from "../../core/model.ts";
import { printable } from "../../core/text.ts";
import { checkedAsks, sendAsks } from "../../wasm/ask-client.ts";
import { hidingOne } from "../../core/redaction.ts";
import { GuestError, type Guest } from "../../wasm/guest.ts";

/** A secret that a guest asks its caller for. */
interface SecretAsk {
  name: string;
  message: string;
  /** True to ask even if one is stored. */
  replace: boolean;
  timeoutMs?: number | undefined;
}

/** Asks the client or, for a secret (an elicitation with mode `secret`), the server. Throws as `checkedAsks`. */
export async function askAll(guest: Guest, asks: Asks): Promise<Answers> {
  if (Object.values(asks).some(({ params }) => params["mode"] === ACCOUNT_MODE))
    throw new GuestError("An account is connected by a request that uses it: see fetch.");
  const [key, ask] =
    Object.entries(asks).find(([, { params }]) => params["mode"] === SECRET_MODE) ?? [];
  if (key === undefined || ask?.method !== "elicitation/create")
    return sendAsks(guest, asks, checkedAsks(guest, asks));
  if (Object.keys(asks).length === 1) return { [key]: await askSecret(guest, key, secretIn(ask)) };
  throw new GuestError("A secret is asked for by itself: ask for the rest before or after.");
}

/** Throws a `GuestError` if a param is wrong. */
function secretIn({ params, timeoutMs }: Ask): SecretAsk {
  const { name, message = "", replace } = params;
  // Browser forms change a line break or NUL: such a secret could not be deleted.
  const isNamed =
    typeof name === "string" &&
    name !== "" &&
    name.length <= limits.idCharacters &&
    name === printable(name);
  if (isNamed && typeof message === "string")
    return { name, message, replace: replace === true, timeoutMs };
  throw new GuestError(
    `A secret needs a name of at most ${limits.idCharacters} characters, all of them printable, and its message must be a text.`,
  );
}

/** The stored secret of the caller; undefined if there is none. */
export async function keptSecret(guest: Guest, name: string): Promise<string | undefined> {
  const params = { mode: SECRET_MODE, name, message: "", after: 0, since: 0, ms: 0 };
  const found = await ownAnswer(guest, `secret ${name}`, params);
  return secretOf(guest, name, found);
}

/** The secret in an answer, redacted from then on in the guest's log lines; undefined if there is none. */
function secretOf(guest: Guest, name: string, answer: Answer): string | undefined {
  const content = "result" in answer ? answer.result["content"] : undefined;
  const secret = isObject(content) ? content["secret"] : undefined;
  if (typeof secret !== "string") return undefined;
  guest.redactions.set(name, hidingOne(secret));
  return secret;
}

/** The caller's secret, as `{action: "accept", content: {secret}}`. */
async function askSecret(guest: Guest, key: string, asked: SecretAsk): Promise<Answer> {
  const { name, message, replace, timeoutMs } = asked;
  const after = replace ? guest.journal.now : 0;
  const { answer } = await askByPage(guest, {
    what: `secret ${name}`,
    lookUp: { mode: SECRET_MODE, name, message, after },
    message: words(asked),
    key,
    timeoutMs,
  });
  secretOf(guest, name, answer);
  return answer;
}

const words = ({ name, message }: SecretAsk): string =>
  `${message === "" ? `The secret ${name} is needed.` : message} Enter it on this page of the server, and nowhere else.`;
