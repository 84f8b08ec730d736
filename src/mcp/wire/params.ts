import { Fault } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { isObject, type Json } from "../../core/model.ts";

/** Readers of a request's params. They throw `invalid_params` that names the param. */

export function string(params: Json, key: string): string {
  const value = params[key];
  if (typeof value === "string") return value;
  throw new Fault("invalid_params", `params.${key} must be a string.`);
}

/** A URI of limited length, because it is matched against templates and scopes. */
export function uriIn(params: Json): string {
  const uri = string(params, "uri");
  if (uri.length <= limits.urlCharacters) return uri;
  throw new Fault(
    "invalid_params",
    `The URI has ${uri.length} characters (limit ${limits.urlCharacters}). Send a shorter one.`,
  );
}

/** An object; an empty one if it is absent. */
export function object(params: Json, key: string): Json {
  const value = params[key] ?? {};
  if (isObject(value)) return value;
  throw new Fault("invalid_params", `params.${key} must be an object.`);
}

export function strings(params: Json, key: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(object(params, key))) {
    if (typeof value !== "string") {
      throw new Fault("invalid_params", `params.${key}.${name} must be a string.`);
    }
    found[name] = value;
  }
  return found;
}

/** The text in a cursor of this server, which is base64; empty if it is not one. */
export function cursorText(cursor: unknown): string {
  try {
    return atob(String(cursor));
  } catch {
    return "";
  }
}

/** Name and version of a client, if its `clientInfo` has them. */
export function clientName(info: unknown): { name?: string; version?: string } {
  const { name, version } = isObject(info) ? info : {};
  return {
    ...(typeof name === "string" && { name }),
    ...(typeof version === "string" && { version }),
  };
}
