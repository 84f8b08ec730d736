/** The history of tried calls in this window, and links that carry arguments. */
import { isObject, type Json } from "../server/kernel/core/model.ts";
import type { Target } from "./targets.ts";

/** A call in the history, without the values of secret fields. */
export interface TriedCall {
  /** End of the call, in Unix ms. */
  at: number;
  ms: number;
  outcome: "completed" | "failed" | "cancelled";
  content: Json;
}

/** Maximum number of calls per entry. */
const KEPT = 10;
/** Maximum length of a call's arguments. */
const CHARACTERS = 20_000;
/** Maximum length of all entries' history. */
const ALL_CHARACTERS = 500_000;

const PREFIX = "tried ";

/** The storage key. It includes the user, so that another user in this window starts without history. */
const keyOf = ({ kind, name }: Target): string => {
  const person = document.querySelector("header .who")?.textContent ?? "";
  return `${PREFIX}${JSON.stringify([person, location.pathname, kind, name])}`;
};

/** The calls of an entry, newest first. */
export function triesOf(target: Target): TriedCall[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(target)) ?? "[]");
    return Array.isArray(kept) ? (kept as TriedCall[]) : [];
  } catch {
    return [];
  }
}

/** Adds a call to the history, and returns the entry's calls. */
export function keepTry(target: Target, call: TriedCall): TriedCall[] {
  if (JSON.stringify(call.content).length > CHARACTERS) return triesOf(target);
  const all = [call, ...triesOf(target)].slice(0, KEPT);
  try {
    const keys = Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX));
    const size = keys.reduce((sum, key) => sum + sessionStorage.getItem(key)!.length, 0);
    if (size > ALL_CHARACTERS) for (const key of keys) sessionStorage.removeItem(key);
    sessionStorage.setItem(keyOf(target), JSON.stringify(all));
  } catch {
    // Without storage, the history lasts as long as the page.
  }
  return all;
}

/** Maximum length of an address that browsers, servers and chat programs handle reliably. */
const LINK_CHARACTERS = 8192;

/** The address of an entry with arguments in the fragment, which servers do not see; undefined if it is too long. */
export function linkTo({ kind, name }: Target, content: Json): string | undefined {
  const url = new URL(location.pathname, location.href);
  url.search = String(new URLSearchParams({ [kind]: name }));
  if (Object.keys(content).length > 0)
    url.hash = `args=${encodeURIComponent(JSON.stringify(content))}`;
  return url.href.length > LINK_CHARACTERS ? undefined : url.href;
}

/** The arguments in the fragment of this page's address. */
export function linkedContent(): Json | undefined {
  const { hash } = location;
  if (!hash.startsWith("#args=") || hash.length > LINK_CHARACTERS) return undefined;
  try {
    const content: unknown = JSON.parse(decodeURIComponent(hash.slice("#args=".length)));
    return isObject(content) ? content : undefined;
  } catch {
    return undefined;
  }
}
