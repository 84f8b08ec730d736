import * as z from "zod/mini";

/**
 * The Worker's variables and secrets that configure the server; servlets may use any others. Set in
 * wrangler.toml, `.dev.vars` or by `wrangler secret put`.
 */
const words = z.pipe(
  z._default(z.string(), ""),
  z.transform((text: string) => text.split(/[\s,]+/).filter((word) => word !== "")),
);

function json<T extends z.ZodMiniType>(schema: T) {
  return z.pipe(
    z.pipe(
      z.string(),
      z.transform((text: string, context) => {
        try {
          return JSON.parse(text) as unknown;
        } catch {
          context.issues.push({ code: "custom", message: "is not JSON", input: text });
          return z.NEVER;
        }
      }),
    ),
    schema,
  );
}

const settingsSchema = z.object({
  SERVER_NAME: z._default(z.string(), "edge-servlets"),
  SERVER_TITLE: z.optional(z.string()),
  SERVER_VERSION: z._default(z.string(), "0.1.0"),
  SERVER_DESCRIPTION: z.optional(z.string()),
  SERVER_INSTRUCTIONS: z.optional(z.string()),
  SERVER_WEBSITE: z.optional(z.url()),
  /** https://modelcontextprotocol.io/specification/2026-07-28/basic/index#icons, as JSON */
  SERVER_ICONS: z.optional(json(z.array(z.looseObject({ src: z.string() })))),
  /** Guests' log calls below this are dropped. */
  LOG_LEVEL: z._default(z.enum(["trace", "debug", "info", "warn", "error"]), "info"),
  /**
   * `fresh` makes a new instance for each call of every servlet; `checked` compares each instance that
   * was put back with a newborn one, and fails the call where they differ.
   */
  ISOLATION: z._default(z.enum(["restored", "fresh", "checked"]), "restored"),
  /** Origins of web pages that may call the server: `https://app.example …`, or `*` for all https ones. */
  ALLOWED_ORIGINS: words,
  /** Host names, besides loopback, that may be served by plain http. */
  ALLOWED_HOSTS: words,
  /** A secret: 32 bytes in hex. Seals what waiting calls carry and store, instead of keys of the server's own. */
  STATE_KEY: z.optional(
    z.string().check(z.regex(/^[0-9a-f]{64}$/i, "must be 32 bytes in hex: openssl rand -hex 32")),
  ),
  /** A secret: `{"name": "SHA-256 of the key in hex"}`, as JSON. */
  API_KEYS: z.optional(
    json(
      z.record(z.string(), z.string().check(z.regex(/^[0-9a-f]{64}$/i, "is no SHA-256 in hex"))),
    ),
  ),
  /** A secret that signs JWTs (HS256) which callers of Open Tool Calling may show instead of a key. */
  OTC_JWT_SECRET: z.optional(z.string().check(z.minLength(32, "must have at least 32 characters"))),
  /** Audiences (`aud`) for which such a JWT may be made out; the server's origin where there are none. */
  OTC_JWT_AUDIENCE: words,
});

export type Settings = z.infer<typeof settingsSchema>;

/** Reads the configuration. Throws an error that names each variable that is wrong, and not its value. */
export function readSettings(env: object): Settings {
  const read = settingsSchema.safeParse(env);
  if (read.success) return read.data;
  const wrong = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Error(`The Worker's configuration is not valid. ${wrong.join("; ")}`);
}

/** All variables and secrets that are text, for servlets' config. */
export function variablesOf(env: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** A binding of Durable Objects, which wrangler.toml says are of this class; undefined where there is none. */
export function namespaceOf<T extends Rpc.DurableObjectBranded>(
  env: object,
  binding: string,
): DurableObjectNamespace<T> | undefined {
  const found = Object.entries(env).find(([name]) => name === binding);
  return found?.[1];
}

/** What servlets are given by these variables. */
export function deploymentOf(env: object) {
  const { LOG_LEVEL: logLevel, ISOLATION: isolation } = readSettings(env);
  const log = (servlet: string, level: Settings["LOG_LEVEL"], text: string) =>
    console[level === "trace" ? "debug" : level](`[${servlet}] ${text}`);
  return { variables: variablesOf(env), logLevel, isolation, log };
}
