import type { Answer, Ask } from "../core/asks.ts";
import { limits } from "./limits.ts";
import type { Json } from "../core/model.ts";
import { sendAsks } from "./ask-client.ts";
import type { Guest } from "./guest.ts";

/** An ask that only a page of this server can answer. */
interface PageAsk {
  /** A label for the journal. */
  what: string;
  /**
   * Params of the elicitation that the server answers itself: with `{action, …}` once the person has acted, or the
   * `{url}` of the page. It also gets `since` (when the guest asked, in Unix ms) and `ms`, how long it may wait.
   */
  lookUp: Json;
  /** For the person who opens the page. */
  message: string;
  /** The key of the ask; by default the guest's next one. */
  key?: string;
  timeoutMs?: number | undefined;
}

/**
 * Asks the caller to open a page of this server, unless the page was already completed. A caller who accepts has opened
 * the page; its completion is awaited before the caller is asked again.
 */
export async function askByPage(
  guest: Guest,
  { what, lookUp, message, key = `ask_${guest.journal.position + 1}`, timeoutMs }: PageAsk,
): Promise<{ answer: Answer; isAsked: boolean }> {
  const since = guest.journal.now;
  let elicitationId: string | undefined;
  for (let nth = 0; nth <= limits.secretAsks; nth++) {
    // Other calls wait for the state that this call holds.
    const patience = guest.setup.keepsState === true ? limits.sleepInPlaceMs : limits.pageMs;
    const ms = nth === 0 ? 0 : patience;
    const found = await ownAnswer(guest, what, { ...lookUp, since, ms });
    const url = "result" in found ? found.result["url"] : undefined;
    if (typeof url !== "string") {
      if (elicitationId !== undefined) notifyCompleted(guest, elicitationId);
      return { answer: found, isAsked: nth > 0 };
    }
    if (nth === limits.secretAsks) break;
    elicitationId ??= url.slice(-ID_CHARACTERS);
    const params = { mode: "url", message, url, elicitationId };
    const own = nth === 0 ? key : `${key}_${nth + 1}`;
    const ask: Ask = { method: "elicitation/create", params, ...(timeoutMs && { timeoutMs }) };
    const { [own]: answer } = await sendAsks(guest, { [own]: ask });
    const isOpen = answer && "result" in answer && answer.result["action"] === "accept";
    if (!isOpen) return { answer: answer ?? CANCELLED, isAsked: true };
  }
  return { answer: CANCELLED, isAsked: true };
}

const CANCELLED: Answer = { result: { action: "cancel" } };

const ID_CHARACTERS = 32;

const notifyCompleted = (guest: Guest, elicitationId: string) =>
  guest.notify(
    { method: "notifications/elicitation/complete", params: { elicitationId } },
    limits.entryBytes,
  );

/** The server's own answer, which the journal records. */
export async function ownAnswer(guest: Guest, what: string, params: Json): Promise<Answer> {
  const { lookUp } = guest.setup;
  if (lookUp === undefined) throw new Error("nothing is kept of callers here");
  const live = async () => JSON.stringify(await guest.wait((signal) => lookUp(params, signal)));
  const answer = await guest.answer({ what, details: JSON.stringify(params) }, live);
  return JSON.parse(answer) as Answer;
}
