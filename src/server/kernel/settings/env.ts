/** The settings of the server: their names, shapes and defaults, read once. */
import * as z from "zod/mini";
import { KEY_NAME, KEY_NAME_RULE } from "../core/key-name.ts";
import { limitsOn, publicLimits, type Limits } from "../core/limits.ts";
import { nearest } from "../core/nearest.ts";
import { AUTH_VARIABLES, OPERATOR_SCOPE } from "../core/model.ts";
import { ACCOUNT_NAME, ACCOUNT_NAME_RULE, issuerSchema, providerSchema } from "./oauth-settings.ts";
import { whyNoLimit } from "./known-features.ts";
import { isServersOwn, MEMORY, ownNames, RUNS, type SettingName } from "./own-names.ts";
import { withoutDot, withoutDotIn } from "../core/host-name.ts";
import { printableLines } from "../core/text.ts";
import { VERSION } from "../core/version.ts";

/** Words separated by white space or commas. */
export const words = z.pipe(
  z._default(z.string(), ""),
  z.transform((text: string) => text.split(/[\s,]+/).filter((word) => word !== "")),
);

/**
 * Host names as URLs have them: in lower case, international ones encoded, IPv6 addresses in brackets, without a port.
 */
const hosts = z.pipe(
  words,
  z.transform((names: string[], { issues }) =>
    names.flatMap((name) => {
      const url = URL.parse(`http://${name}`) ?? URL.parse(`http://[${name}]`);
      if (url !== null && /^[^/?#@\\*]+$/.test(name)) return withoutDot(url.hostname);
      const message = `must be names of hosts, such as "box.local 10.0.0.5", and ${JSON.stringify(name)} is none: leave out its scheme, path or *`;
      issues.push({ code: "custom", message, input: name });
      return [];
    }),
  ),
);

/** JSON of a schema that is made on first use: most settings are not set. */
export function jsonSetting<T extends z.ZodMiniType>(schema: () => T) {
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
    z.lazy(schema),
  );
}

const hash = () =>
  z
    .string()
    .check(z.regex(/^[0-9a-f]{64}$/i, "is not a SHA-256 hash in hex; make keys with npm run keys"));

const NO_SPACE = /^\S+$/;
const NO_SPACE_RULE = "must be without white space, and not empty";

const apiKey = () =>
  z.strictObject({
    hash: hash(),
    scopes: z.optional(z.array(z.string().check(z.regex(NO_SPACE, NO_SPACE_RULE)))),
    expires: z.optional(z.iso.datetime({ offset: true })),
  });

const pattern = () =>
  z
    .string()
    .check(
      z.regex(/:/, "must be patterns such as hello:greet or hello:*"),
      z.regex(NO_SPACE, NO_SPACE_RULE),
    );
const scopeNames = z.refine<object>(
  (scopes) => Object.keys(scopes).every((name) => NO_SPACE.test(name)),
  `names of scopes ${NO_SPACE_RULE}`,
);

const notReserved = z.refine<object>(
  (scopes) => !Object.hasOwn(scopes, OPERATOR_SCOPE),
  `${OPERATOR_SCOPE} is the scope of those who operate the server: give yours another name`,
);

const publicUrl = z.pipe(
  z
    .string()
    .check(
      z.refine(
        (text) => /^https?:\/\/[^/?#@\\\s]+\/?$/i.test(text) && URL.canParse(text),
        "must be the server's origin, such as https://mcp.example.com, without a path, a query or a name",
      ),
    ),
  z.transform((text: string) => withoutDotIn(new URL(text)).origin),
);

const limitNames = () => Object.keys(publicLimits) as (keyof Limits)[];
const noLimit = (name: string): string => {
  const why = whyNoLimit(name);
  if (why !== undefined) return `has ${name}, but ${why}`;
  const meant = nearest(name, limitNames());
  const hint = meant === undefined ? "see docs/configuration.md" : `did you mean ${meant}?`;
  return `has no ${name} (${hint})`;
};
/** The schema of the limits of all rooms loaded so far. */
const limitsSchema = () =>
  z.partialRecord(
    z.enum(limitNames()),
    z.int("must be a whole number").check(z.nonnegative("must not be below 0")),
    {
      error: ({ keys }) =>
        Array.isArray(keys) ? keys.map((key) => noLimit(String(key))).join(", ") : undefined,
    },
  );

/** True if all these issuers are different. */
export const isUnique = (issuers: readonly { issuer: string }[]) =>
  new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length;

/**
 * The Worker's variables and secrets that configure the server; servlets may use only others. Set in
 * wrangler.toml, `.dev.vars` or by `wrangler secret put`. The comments are the table of docs/configuration.md.
 */
const shape = {
  /** How the server introduces itself to clients, and on its page. */
  SERVER_NAME: z._default(z.string(), "edge-servlets"),
  // A blank title counts as missing: every page has a heading.
  SERVER_TITLE: z.pipe(
    z.optional(z.string()),
    z.transform((title) => (title?.trim() === "" ? undefined : title)),
  ),
  /** Its version; by default that of the project's `package.json`, else that of edge-servlets. */
  SERVER_VERSION: z._default(z.string(), VERSION),
  /**
   * Its name in registries and on its [card](clients.md#how-a-server-is-found), such as `com.example/weather`; made of
   * its host and name by default.
   */
  SERVER_REGISTERED: z.optional(
    z
      .string()
      .check(
        z.regex(
          /^[a-zA-Z0-9.-]{1,100}\/[a-zA-Z0-9._-]{1,99}$/,
          "must be a domain backwards, a slash and a name: com.example/weather",
        ),
      ),
  ),
  /**
   * The proof that its domain is yours, which `/.well-known/mcp-registry-auth` shows to
   * [registries](clients.md#in-the-mcp-registry).
   */
  REGISTRY_PROOF: z.optional(
    z
      .string()
      .check(
        z.regex(
          /^v=MCPv1; k=(ed25519|ecdsap384); p=[A-Za-z0-9+/]{43,88}={0,2}$/,
          "must be what npm run registry prints: v=MCPv1; k=ed25519; p=…",
        ),
      ),
  ),
  /** Its description, instructions for models, and home page. */
  SERVER_DESCRIPTION: z.optional(z.string()),
  SERVER_INSTRUCTIONS: z.optional(z.string()),
  SERVER_WEBSITE: z.optional(z.url()),
  /**
   * Its [icons](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#icons): JSON, `[{"src",
   * "mimeType"?, "sizes"?}]`.
   */
  SERVER_ICONS: z.optional(jsonSetting(() => z.array(z.looseObject({ src: z.string() })))),
  /** Its one icon, for clients and on its pages: an https or `data:image/` URL. Short for `SERVER_ICONS`. */
  SERVER_ICON: z.optional(
    z.string().check(
      z.regex(
        /^(https:\/\/[^\s/]+|data:image\/[a-z+.-]+[;,])\S*$/,
        "must be an https or data:image/ URL, such as https://example.com/icon.svg",
      ),
      z.refine((text) => URL.canParse(text), "must be a URL, such as https://example.com/icon.svg"),
    ),
  ),
  /**
   * The accent of its [pages](console.md), as a hex colour such as `#0b7285`. Links and buttons get a shade of it that
   * is readable in light and dark.
   */
  SERVER_COLOR: z.optional(
    z
      .string()
      .check(
        z.regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, "must be a hex colour, such as #0b7285 or #07a"),
      ),
  ),
  /** The least severe level of servlets' log calls that reaches the log. */
  LOG_LEVEL: z._default(z.enum(["trace", "debug", "info", "warn", "error"]), "info"),
  /**
   * `fresh` makes a new instance for each call of every servlet. `checked` compares each restored instance
   * with a new one, and fails the call if they differ (slow; for tests).
   */
  ISOLATION: z._default(z.enum(["restored", "fresh", "checked"]), "restored"),
  /**
   * Origins of web pages that may call, besides the server's own and localhost, as browsers send them:
   * `https://app.example …`, `*` for all https ones; of apps, such as `chrome-extension://ID` and `tauri://localhost`;
   * `null`, which any page can send from a sandboxed frame.
   */
  ALLOWED_ORIGINS: words,
  /**
   * The server's own origin, such as `https://mcp.example.com`, in all that it says and decides: audience of tokens,
   * metadata, links, cookies. Without it, that of each request. With it, and always [on a machine of your
   * own](self-hosting.md#behind-a-reverse-proxy), requests for other hosts are refused (421), except for loopback names
   * and `ALLOWED_HOSTS`.
   */
  PUBLIC_URL: z.optional(publicUrl),
  /** Host names that are served, by plain http too, besides loopback ones and that of `PUBLIC_URL`. */
  ALLOWED_HOSTS: hosts,
  /**
   * A secret: 32 bytes in hex (`openssl rand -hex 32`). Encrypts the state of waiting calls; without it the server
   * makes its own keys.
   */
  STATE_KEY: z.optional(
    z.string().check(z.regex(/^[0-9a-f]{64}$/i, "must be 32 bytes in hex: openssl rand -hex 32")),
  ),
  /** Authorization servers whose tokens are accepted: a JSON array, see below. */
  OAUTH_ISSUERS: z.optional(
    jsonSetting(() =>
      z
        .array(issuerSchema())
        .check(z.minLength(1), z.refine(isUnique, "names an issuer twice; give each one entry")),
    ),
  ),
  /**
   * A secret: the hash that `npm run passphrase` prints. With it the owner can sign in; `npm run passphrase` also binds
   * what that needs.
   */
  OWNER_PASSPHRASE: z.optional(
    z
      .string()
      .check(
        z.regex(
          /^pbkdf2([$:])([1-9]\d{0,4}|100000)\1[A-Za-z0-9+/]{22,}={0,2}\1[A-Za-z0-9+/]{43}=$/,
          "must be the hash that `npm run passphrase` prints, with at most 100000 iterations",
        ),
      ),
  ),
  /**
   * A secret that `npm run keys` makes. JSON: by name, the SHA-256 of a key in hex, or `{"hash", "scopes"?,
   * "expires"?}`.
   */
  API_KEYS: z.optional(
    jsonSetting(() =>
      z
        .record(
          z.string(),
          z.union([hash(), apiKey()], {
            error:
              'must be a SHA-256 hash in hex, or {"hash", "scopes"?, "expires"?}; make keys with npm run keys',
          }),
        )
        .check(
          z.refine(
            (keys) => Object.keys(keys).every((name) => KEY_NAME.test(name)),
            `names of keys ${KEY_NAME_RULE}`,
          ),
        ),
    ),
  ),
  /** Patterns that each scope grants, as JSON: `{"reader": ["http-status:*", "web:fetch"]}`. */
  SCOPES: z.optional(
    jsonSetting(() => z.record(z.string(), z.array(pattern())).check(scopeNames, notReserved)),
  ),
  /** How each run of a servlet is logged: `json`, `text` (easier to read) or `off`: only those that fail, as text. */
  RUN_LOG: z._default(z.enum(["json", "text", "off"]), "off"),
  /** The share of runs that is logged, from `0` to `1`, such as `0.01`; those that fail always are. */
  RUN_LOG_SAMPLE: z._default(
    jsonSetting(() => z.number().check(z.minimum(0), z.maximum(1))),
    1,
  ),
  /** `none`: public access is intended. Without it an open server warns on its page and in its log. */
  AUTH: z.optional(z.literal("none")),
  /** Overrides the limits below: JSON, as `{"callsPerMinute": 600, "bodyBytes": 1000000}`. */
  LIMITS: z.optional(jsonSetting(limitsSchema)),
  /** Providers at which callers have [accounts](accounts.md) that servlets may use: JSON, by name, see below. */
  ACCOUNTS: z.optional(
    jsonSetting(() =>
      z
        .record(z.string(), providerSchema())
        .check(
          z.refine(
            (providers) => Object.keys(providers).every((name) => ACCOUNT_NAME.test(name)),
            `names of providers ${ACCOUNT_NAME_RULE}`,
          ),
        ),
    ),
  ),
} satisfies Partial<Record<SettingName, z.ZodMiniType>>;

type KernelSettings = z.infer<z.ZodMiniObject<typeof shape>>;

/** The settings of the kernel, to which each feature adds its own. */
export interface Settings extends KernelSettings {}

/** The settings of one feature. */
export interface FeatureSettings {
  /** Their comments also become rows of the table in docs/configuration.md. */
  readonly shape: Readonly<Record<string, z.ZodMiniType>>;
  /** Describes, for a message, which of them let the Host header decide an audience; undefined if none do. */
  openAudience?(settings: Settings): string | undefined;
}

/**
 * Reads the settings of the kernel and of these features. Throws an error that names each invalid variable, without its
 * value.
 */
export function readSettings(env: object, features: readonly FeatureSettings[] = []): Settings {
  const all: { [Name in keyof Settings]-?: z.ZodMiniType<Settings[Name]> } = Object.assign(
    {},
    shape,
    ...features.map((one) => one.shape),
  );
  const read = z.object(all).safeParse({ ...env, ...variablesOf(env) });
  if (read.success) return checked(read.data);
  const wrong = read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Error(`The Worker's configuration is not valid. ${wrong.join("\n")}`);
}

/** Throws for contradictory settings. */
function checked(settings: Settings): Settings {
  const { AUTH, API_KEYS = {}, SCOPES = {} } = settings;
  const isSet = { ...settings, API_KEYS: Object.keys(API_KEYS).length > 0 || undefined };
  const way = AUTH_VARIABLES.find((name) => Reflect.get(isSet, name) !== undefined);
  if (AUTH === "none" && way !== undefined) {
    throw new Error(
      `The Worker's configuration is not valid. AUTH is none, but ${way} is set: remove one of them.`,
    );
  }
  if (settings.SERVER_ICON !== undefined && settings.SERVER_ICONS !== undefined) {
    throw new Error(
      "The Worker's configuration is not valid. SERVER_ICON and SERVER_ICONS are both set: remove one of them.",
    );
  }
  for (const [name, key] of Object.entries(API_KEYS)) {
    const scopes = typeof key === "string" ? [] : (key.scopes ?? []);
    const unknown = unknownScope(scopes, SCOPES);
    if (unknown === undefined) continue;
    const message = `The API key ${name} has the scope ${unknown}, which SCOPES does not define: add it there.`;
    throw new Error(`The Worker's configuration is not valid. ${message}`);
  }
  return settings;
}

/** The value of `RUNS`. */
export function runsOf(env: object): string | undefined {
  const value = (env as Record<string, unknown>)[RUNS];
  return isVariable(value) ? String(value) : undefined;
}

/** The limits that the environment sets: for the machine's memory, which `MEMORY` has on a self-hosted server, and by `LIMITS`. */
export function limitsIn(env: object, set: Partial<Limits> = {}): Partial<Limits> {
  const memory = Number((env as Record<string, unknown>)[MEMORY]);
  if (runsOf(env) !== "self-hosted" || !(memory > 0)) return set;
  const { waitingBytesOfOne, ...more } = limitsOn(memory);
  // Where an operator lowers what waits in all, one caller's part stays the half of it.
  const ofOne = Math.min(waitingBytesOfOne, (set.waitingBytes ?? Infinity) / 2);
  return { ...more, waitingBytesOfOne: ofOne, ...set };
}

/** Throws if the Host header would decide the audience of tokens or assertions. */
export function demandAudience(settings: Settings, features: readonly FeatureSettings[]): void {
  const { PUBLIC_URL, OAUTH_ISSUERS = [] } = settings;
  const open = OAUTH_ISSUERS.find(({ audience }) => audience === undefined);
  const what = [
    open && `OAUTH_ISSUERS has ${open.issuer} without an audience`,
    ...features.map((one) => one.openAudience?.(settings)),
  ].find((one) => one !== undefined);
  if (PUBLIC_URL !== undefined || what === undefined) return;
  throw new Error(
    `${what}, and PUBLIC_URL is not set, so the Host header of a request would decide the audience of its tokens. Set PUBLIC_URL to the server's origin, such as https://mcp.example.com.`,
  );
}

/** True for a variable or secret; false for a binding. wrangler.toml may have numbers and booleans without quotes. */
const isVariable = (value: unknown): value is string | number | boolean =>
  ["string", "number", "boolean"].includes(typeof value);

/** All variables and secrets, as text. */
export function variablesOf(env: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env)
      .filter(([, value]) => isVariable(value))
      .map(([name, value]) => [name, String(value)]),
  );
}

/**
 * The names of the server's own variables, secrets and bindings in this environment, including those that its settings
 * name.
 */
export function ownNamesOf(settings: Settings, env: object): ReadonlySet<string> {
  const bound = Object.entries(env).filter(([, value]) => !isVariable(value));
  return new Set([
    ...ownNames().flat(),
    ...Object.keys(settings),
    ...Object.keys(env).filter(isServersOwn),
    ...bound.map(([name]) => name),
    ...clientSecretsIn(settings),
  ]);
}

/** The names of client secrets, anywhere in the settings. */
function clientSecretsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    key === "client_secret" && typeof inner === "string" ? [inner] : clientSecretsIn(inner),
  );
}

/** The first of a key's scopes that is neither a pattern nor defined in `SCOPES`. */
export const unknownScope = (
  scopes: readonly string[],
  defined: Readonly<Record<string, unknown>>,
): string | undefined =>
  scopes.find(
    (scope) => !scope.includes(":") && scope !== OPERATOR_SCOPE && !Object.hasOwn(defined, scope),
  );

export const apiKeysOf = ({ API_KEYS = {} }: Settings) =>
  Object.entries(API_KEYS).map(([name, key]) => {
    const { hash: hex, scopes, expires } = typeof key === "string" ? { hash: key } : key;
    return {
      name,
      hash: new Uint8Array(Uint8Array.fromHex(hex)),
      ...(scopes && { scopes }),
      ...(expires !== undefined && { expires: Date.parse(expires) }),
    };
  });

/** The deployment configured by these settings; `env` has the variables of the servlets and of the server. */
export function deploymentOf(settings: Settings, env: object) {
  const { LOG_LEVEL: logLevel, ISOLATION: isolation, SCOPES: scopes = {} } = settings;
  const { RUN_LOG, RUN_LOG_SAMPLE: share } = settings;
  const print = (line: string) => console.log(line);
  const record = RUN_LOG === "off" ? undefined : { format: RUN_LOG, share, print };
  const log = (servlet: string, level: Settings["LOG_LEVEL"], text: string) => {
    console[level === "trace" ? "debug" : level](`[${servlet}] ${printableLines(text)}`);
  };
  const own = ownNamesOf(settings, env);
  const variables = Object.fromEntries(
    Object.entries(variablesOf(env)).filter(([name]) => !own.has(name)),
  );
  return { variables, logLevel, isolation, scopes, log, record };
}
