/** Elicitations of servlets, before a client sees them. */
import type { Ask, Asks } from "../core/asks.ts";
import { limits } from "../core/limits.ts";
import { isObject, type Json } from "../core/model.ts";
import { FORMATS } from "./formats.ts";
import { Schema, SchemaError } from "./schema.ts";
import { beginningOf } from "../core/text.ts";
import { mapValues } from "../core/values.ts";

/**
 * What is wrong with the first unusable elicitation, and what to do; undefined if all are usable. `spend` is called
 * with the number of states of the patterns of each form, and throws if there are too many.
 */
export function wrongElicitation(asks: Asks, spend: (states: number) => void): string | undefined {
  for (const [key, { method, params }] of Object.entries(asks)) {
    if (method !== "elicitation/create") continue;
    const problem = problemOf(params, spend);
    if (problem === undefined) continue;
    const { member, why, next } = problem;
    return `the ${member} of ${beginningOf(key, 80)} cannot be used: ${why}. ${next}`;
  }
  return undefined;
}

interface Problem {
  member: string;
  why: string;
  /** Advice on how to correct it. */
  next: string;
}

function problemOf(params: Json, spend: (states: number) => void): Problem | undefined {
  const { mode, requestedSchema: schema } = params;
  if (mode === "url") return problemOfPage(params);
  if ((mode ?? "form") !== "form")
    return { member: "mode", why: "it is unknown", next: "Use form or url" };
  if (!isObject(schema)) return undefined;
  const nested = nestedIn(schema);
  if (nested !== undefined) {
    const next = "Ask for texts, numbers, booleans and choices, each as a member of its own";
    return { member: "requestedSchema", why: `clients cannot ask for ${nested}`, next };
  }
  try {
    spend(new Schema(schema, { formats: FORMATS }).patternStates);
    return undefined;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const next = "Give it a valid JSON Schema";
    return { member: "requestedSchema", why: error.message, next };
  }
}

/**
 * The first member that is an object or a list of objects; undefined for a flat object's schema.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
 */
function nestedIn({ properties }: Json): string | undefined {
  if (!isObject(properties)) return undefined;
  const isNested = (field: unknown): boolean =>
    isObject(field) && (field["type"] === "object" || "properties" in field);
  for (const [name, field] of Object.entries(properties)) {
    if (isNested(field)) return `${name.slice(0, 80)}, which is an object`;
    if (!isObject(field) || field["type"] !== "array") continue;
    const { items } = field;
    if (isNested(items) || (isObject(items) && items["type"] === "array")) {
      return `${name.slice(0, 80)}, which is a list of objects or lists`;
    }
  }
  return undefined;
}

/** https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#safe-url-handling */
function problemOfPage({ message, url, elicitationId: id }: Json): Problem | undefined {
  const { idCharacters, urlCharacters } = limits;
  if (typeof message !== "string")
    return { member: "message", why: "it is not a text", next: "Say what the page is for" };
  const isId = typeof id === "string" && id !== "" && id.length <= idCharacters;
  if (id !== undefined && id !== null && !isId) {
    const why = `it is not a text of 1 to ${idCharacters} characters`;
    return { member: "elicitationId", why, next: "Shorten it, or leave it out" };
  }
  const why = problemOfUrl(url, urlCharacters);
  const next = "Give it an https URL without a user name and a password";
  return why === undefined ? undefined : { member: "url", why, next };
}

/** The messages do not repeat the URL, which may be private. */
function problemOfUrl(url: unknown, most: number): string | undefined {
  if (typeof url !== "string") return "it is not a text";
  const tooLong = `it is longer than ${most} characters`;
  if (url.length > most) return tooLong;
  const parsed = URL.parse(url);
  if (parsed === null) return "it is not a URL";
  if (parsed.href.length > most) return tooLong; // Its letters are written in ASCII.
  if (parsed.protocol !== "https:") return "it is not https";
  if (parsed.username !== "" || parsed.password !== "") return "it has a user name or a password";
  return undefined;
}

/**
 * Checked asks as clients get them: a page has only the members of the specification, with its host in ASCII, since
 * other letters may imitate another host.
 */
export const sentAsks = (asks: Asks): Asks => mapValues(asks, sentAsk);

function sentAsk(ask: Ask): Ask {
  const { mode, message, url, elicitationId: id } = ask.params;
  if (ask.method !== "elicitation/create" || mode !== "url") return ask;
  const { href } = new URL(String(url));
  return {
    ...ask,
    params: { mode, message, url: href, ...(typeof id === "string" && { elicitationId: id }) },
  };
}
