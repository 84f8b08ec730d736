import { SECRET_MODE, type Answer, type Answers, type Ask, type Asks } from "../../asks.ts";
import { limits } from "../../limits.ts";
import { isObject } from "../../model.ts";
import { askClient } from "../../wasm/ask-client.ts";
import { GuestError, type Guest } from "../../wasm/guest.ts";

/** A secret that a guest asks its caller for. */
interface AskedSecret {
  name: string;
  message: string;
  /** True to ask although one is kept. */
  replace: boolean;
  timeoutMs?: number | undefined;
}

/** Asks the client, or for a secret (an elicitation with mode `secret`) the server. Throws as `askClient`. */
export async function askAll(guest: Guest, asks: Asks): Promise<Answers> {
  const [key, ask] =
    Object.entries(asks).find(([, { params }]) => params["mode"] === SECRET_MODE) ?? [];
  if (key === undefined || ask?.method !== "elicitation/create") return askClient(guest, asks);
  if (Object.keys(asks).length === 1) return { [key]: await askSecret(guest, key, secretIn(ask)) };
  throw new GuestError("A secret is asked for by itself: ask for the rest before or after.");
}

/** Throws a `GuestError` where a param is wrong. */
function secretIn({ params, timeoutMs }: Ask): AskedSecret {
  const { name, message = "", replace } = params;
  const isNamed = typeof name === "string" && name !== "" && name.length <= limits.idCharacters;
  if (isNamed && typeof message === "string")
    return { name, message, replace: replace === true, timeoutMs };
  throw new GuestError(
    `A secret needs a name of at most ${limits.idCharacters} characters, and its message must be a text.`,
  );
}

/** The kept secret of the caller; undefined if there is none. */
export async function keptSecret(guest: Guest, name: string): Promise<string | undefined> {
  const found = await lookUp(guest, { name, message: "", after: 0, ms: 0 });
  const secret = "result" in found ? found.result["secret"] : undefined;
  return typeof secret === "string" ? secret : undefined;
}

/**
 * The caller's secret, as `{action: "accept", content: {secret}}`. Where there is none yet, the caller enters it on a
 * page of this server. Whoever accepts has opened that page, and is waited for before it is asked again.
 */
async function askSecret(guest: Guest, key: string, asked: AskedSecret): Promise<Answer> {
  const { name, message, replace, timeoutMs } = asked;
  const after = replace ? guest.journal.now : 0;
  let elicitationId: string | undefined;
  for (let nth = 0; nth <= limits.secretAsks; nth++) {
    // Other calls wait for the state that this one has.
    const patience = guest.setup.keepsState === true ? limits.sleepInPlaceMs : limits.pageMs;
    const ms = nth === 0 ? 0 : patience;
    const found = await lookUp(guest, { name, message, after, ms });
    if ("failed" in found) return found;
    const { secret, url } = found.result;
    if (typeof secret === "string") {
      if (elicitationId !== undefined) tellDone(guest, elicitationId);
      return { result: { action: "accept", content: { secret } } };
    }
    if (nth === limits.secretAsks) break;
    elicitationId ??= String(url).slice(-ID_CHARACTERS);
    const params = { mode: "url", message: words(asked), url, elicitationId };
    const own = nth === 0 ? key : `${key}_${nth + 1}`;
    const ask: Ask = { method: "elicitation/create", params, ...(timeoutMs && { timeoutMs }) };
    const { [own]: answer } = await askClient(guest, { [own]: ask });
    const isOpen = answer && "result" in answer && answer.result["action"] === "accept";
    if (!isOpen) return answer ?? { result: { action: "cancel" } };
  }
  return { result: { action: "cancel" } };
}

const ID_CHARACTERS = 32;

const words = ({ name, message }: AskedSecret): string =>
  `${message === "" ? `The secret ${name} is needed.` : message} Enter it on this page of the server, and nowhere else.`;

const tellDone = (guest: Guest, elicitationId: string) =>
  guest.notify(
    { method: "notifications/elicitation/complete", params: { elicitationId } },
    limits.entryBytes,
  );

/** What the server has, and the journal keeps: `{secret}` or `{url}`. */
async function lookUp(
  guest: Guest,
  wanted: { name: string; message: string; after: number; ms: number },
): Promise<Answer> {
  const ask: Ask = { method: "elicitation/create", params: { mode: SECRET_MODE, ...wanted } };
  const live = async () =>
    JSON.stringify(await guest.wait((signal) => guest.setup.ask({ it: ask }, signal)));
  const question = { what: `secret ${wanted.name}`, details: JSON.stringify(wanted) };
  const answer: unknown = JSON.parse(await guest.answer(question, live));
  return (isObject(answer) ? answer["it"] : undefined) as Answer;
}
