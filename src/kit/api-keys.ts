/** The keys that requests of generated servlets carry. */
import type { Context } from "./context.ts";
import { ToolError } from "./schema.ts";

/**
 * An API key and where requests carry it: `Authorization: Bearer KEY`, `Authorization: Basic` (the key is `user:password`), a
 * header or a query parameter. The key is the server's secret (`allowed_secrets`, with the user `key`); if the server has none,
 * the caller is asked for a key.
 *
 * @example
 * const key: ApiKey = { secret: "weather", as: { header: "x-api-key" }, message: "Your key of Example Weather" };
 * const weather = defineApi({ name: "Weather", url: "https://api.example.com", keys: [key] });
 */
export interface ApiKey {
  secret: string;
  as: "bearer" | "basic" | { header: string } | { query: string };
  message?: string;
}

/** The headers and the query parameters that carry these keys to a service. Throws a `ToolError` if there is no key. */
export async function keysFor(context: Context, service: string, keys: readonly ApiKey[] = []) {
  const carried = { headers: [] as [string, string][], query: [] as [string, string][] };
  for (const key of keys) {
    const value = await keyOf(key, service, context);
    if (key.as === "bearer") carried.headers.push(["authorization", `Bearer ${value}`]);
    else if (key.as === "basic") carried.headers.push(["authorization", `Basic ${base64(value)}`]);
    else if ("header" in key.as) carried.headers.push([key.as.header, value]);
    else carried.query.push([key.as.query, value]);
  }
  return carried;
}

const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

async function keyOf({ secret, message }: ApiKey, api: string, context: Context): Promise<string> {
  const key =
    context.secret(secret, "key") ??
    (await context.askSecret({ name: secret, message: message ?? `Your key of ${api}` }));
  if (key !== undefined) return key;
  throw new ToolError(`There is no key of ${api}. Call again, and enter yours when asked.`);
}
