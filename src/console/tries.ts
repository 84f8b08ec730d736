/** The history of tried calls in this window, and links that carry arguments. */
import { isObject, type Json } from "../server/kernel/core/model.ts";
import type { Target } from "./targets.ts";

/** A call as it is kept. Values of secret fields are left out. */
export interface TriedCall {
  /** When it ended, in Unix ms. */
  at: number;
  ms: number;
  outcome: "completed" | "failed" | "cancelled";
  content: Json;
}

/** How many calls of an entry are kept, and the characters of the arguments of each and of all calls of all entries. */
const KEPT = 10;
const CHARACTERS = 20_000;
const ALL_CHARACTERS = 500_000;

const PREFIX = "tried ";

/** The storage key, which includes the visitor: another person in this window starts without history. */
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

/** Keeps a call, and returns all of its entry. */
export function keepTry(target: Target, call: TriedCall): TriedCall[] {
  if (JSON.stringify(call.content).length > CHARACTERS) return triesOf(target);
  const all = [call, ...triesOf(target)].slice(0, KEPT);
  try {
    const keys = Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX));
    const size = keys.reduce((sum, key) => sum + sessionStorage.getItem(key)!.length, 0);
    if (size > ALL_CHARACTERS) for (const key of keys) sessionStorage.removeItem(key);
    sessionStorage.setItem(keyOf(target), JSON.stringify(all));
  } catch {
    // A browser without storage shows them while the page is open.
  }
  return all;
}

/** The longest address that browsers, servers and chats take without harm. */
const LINK_CHARACTERS = 8192;

/** The address of an entry with its arguments, which servers do not see; undefined where it would be too long. */
export function linkTo({ kind, name }: Target, content: Json): string | undefined {
  const url = new URL(location.pathname, location.href);
  url.search = String(new URLSearchParams({ [kind]: name }));
  if (Object.keys(content).length > 0)
    url.hash = `args=${encodeURIComponent(JSON.stringify(content))}`;
  return url.href.length > LINK_CHARACTERS ? undefined : url.href;
}

/** The arguments that this page's address carries. */
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
