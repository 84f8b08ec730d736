/** A servlet's manifest, `servlet.json`: its keys, and how it is read. */
import { en } from "zod/locales";
import * as z from "zod/mini";
import { fits } from "../core/glob.ts";
import { limits } from "../core/limits.ts";
import { once } from "../core/once.ts";
import { Pattern } from "../schema/pattern.ts";
import { Schema } from "../schema/schema.ts";
import { dialectNames } from "./dialects.ts";
import { memoryBytes } from "../core/text.ts";
import { isSecureUrl } from "../settings/oauth-settings.ts";
import { ownVariablesIn } from "./variables.ts";
import { webhooksSchema } from "./webhook-schema.ts";

// Without it, zod/mini reports everything as invalid input.
z.config(en());

/** A schema with its description for editors. */
const described = <T extends z.ZodMiniType>(schema: T, text: string): T =>
  schema.check(z.describe(text));

const matching = (pattern: RegExp, fault: string) => z.string().check(z.regex(pattern, fault));

const identified = () => ({ id: z.string().check(z.minLength(1)) });

/** Requirements of a tool besides its input, as Open Tool Calling names them. */
const requirementsSchema = once(() =>
  z
    .partial(
      z.strictObject({
        authorization: described(
          z.array(
            z.strictObject({
              ...identified(),
              oauth2: z.optional(z.strictObject({ scopes: z.optional(z.array(z.string())) })),
            }),
          ),
          "Access tokens, by id.",
        ),
        secrets: described(
          z.array(z.strictObject(identified())),
          "Secrets such as API keys, by id.",
        ),
        user_id: described(z.boolean(), "The id of the user."),
      }),
    )
    .check(
      z.refine(({ authorization = [], secrets = [] }) => {
        const ids = [...authorization, ...secrets].map(({ id }) => id);
        return new Set([...ids, "user_id"]).size > ids.length;
      }, "repeats an id, or uses the reserved id user_id; give each a different one"),
    ),
);

const pattern = once(() =>
  z.string().check(
    z.superRefine((source, { addIssue }) => {
      try {
        void new Pattern(source, "");
      } catch (error) {
        addIssue((error as Error).message);
      }
    }),
  ),
);

const NO_SIZE = 'is not a size; write, for example, "64Mi"';
const size = once(() =>
  z.string(NO_SIZE).check(
    // A small number without a unit was not meant as bytes.
    z.refine(
      (text) => memoryBytes(text) !== undefined && !/^\s*[1-9]\d{0,3}\s*$/.test(text),
      NO_SIZE,
    ),
  ),
);

/**
 * An origin as in a page's policy, if need be with a wildcard for subdomains. Excludes anything that ends a directive
 * or is another kind of source.
 */
export const ORIGIN = /^(https?|wss?):\/\/(\*\.)?[\w-]+(\.[\w-]+)*(:\d{1,5})?$/;

const origins = () =>
  z.array(
    matching(
      ORIGIN,
      'must be an origin, such as "https://api.example.com" or "https://*.example.com"',
    ),
  );

const view = once(() =>
  z.strictObject({
    file: described(z.string().check(z.minLength(1)), "Its HTML document, beside this file."),
    tools: z.optional(described(z.array(z.string()), "The tools whose results it shows.")),
    title: z.optional(z.string()),
    description: z.optional(z.string()),
    csp: z.optional(
      described(
        z.partial(
          z.strictObject({
            connectDomains: described(origins(), "Origins that it fetches from."),
            resourceDomains: described(
              origins(),
              "Origins of its scripts, styles, images and fonts.",
            ),
            frameDomains: described(origins(), "Origins of frames in it."),
            baseUriDomains: described(origins(), "Origins of its base URI."),
          }),
        ),
        "Where it may load from and connect to. Nowhere by default.",
      ),
    ),
    permissions: z.optional(
      described(
        z.array(z.enum(["camera", "microphone", "geolocation", "clipboardWrite"])),
        "What it asks of the browser. Nothing by default.",
      ),
    ),
    prefersBorder: z.optional(described(z.boolean(), "Whether hosts draw a border around it.")),
  }),
);

/** A JSON Schema that only objects match. */
const objectSchema = once(() =>
  z.record(z.string(), z.unknown()).check(
    z.superRefine((schema, { addIssue }) => {
      if (schema["type"] !== "object")
        addIssue('must be a JSON Schema with "type": "object" at its root');
      try {
        void new Schema(schema);
      } catch (error) {
        addIssue(`cannot be used: ${(error as Error).message}`);
      }
    }),
  ),
);

/** Characters of these URLs: they are names of objects, and are shown whole to who agrees to them. */
const ISSUER_CHARACTERS = 500;

const urlThat = (isRight: (url: URL) => boolean, fault: string) =>
  z.string().check(
    z.maxLength(ISSUER_CHARACTERS),
    z.refine((text) => {
      const url = URL.parse(text);
      if (url === null || !isSecureUrl(text) || url.username + url.password !== "") return false;
      return !text.includes("#") && isRight(url);
    }, fault),
  );

const issuerUrl = () =>
  urlThat(
    ({ search }) => search === "",
    'must be an https URL without a query or fragment, such as "https://auth.example.com"',
  );

const resourceUrl = () =>
  urlThat(
    () => true,
    'must be an https URL without a fragment, such as "https://mcp.example.com/mcp"',
  );

const event = once(() =>
  z.strictObject({
    description: described(
      z.string().check(z.minLength(1), z.maxLength(2000)),
      "When it happens and what it tells, for models and people.",
    ),
    input: z.optional(
      described(
        objectSchema(),
        "The arguments by which a subscriber narrows it: each one given must equal the member of the data with the same name. None by default.",
      ),
    ),
    payload: described(objectSchema(), "The JSON Schema of its data."),
    to: z.optional(
      described(
        z.literal("everyone"),
        "Allows the servlet to emit it to all callers who may subscribe to it. By default only the caller of the run hears it.",
      ),
    ),
  }),
);

/** Characters of the names of events: they are parts of URIs, scopes and messages. */
const EVENT_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/**
 * A servlet's manifest, `servlet.json` beside its wasm. Keys that hyper-mcp's configuration also has
 * mean the same; camelCase is read as well. Every key is described, because editors complete from this.
 */
export const manifestSchema = once(() =>
  z
    .partial(
      z.strictObject({
        $schema: described(z.string(), "Where this file's JSON Schema is, for editors."),
        description: described(
          z.string(),
          "What the servlet is for; shown to people, not to clients.",
        ),
        instructions: described(
          z.string().check(z.maxLength(2000)),
          "How to use the servlet's tools, for models: joined to the instructions of the server or profile. At most 2,000 characters.",
        ),
        source: described(
          z.string().check(z.minLength(1)),
          "Where its wasm is from, if it is not beside this file: `oci://`, `https://`, `s3://`, `file://` or a path. Written by `npm run servlets -- add`, and pinned in servlets.lock.json.",
        ),
        dialect: described(
          z.enum(dialectNames),
          "The plugin interface. Detected from the exports by default.",
        ),
        prefix: described(
          matching(/^[A-Za-z0-9_.-]{1,64}$/, "may have letters, digits, _, . and - only"),
          "Lists every tool and prompt as `prefix-name`.",
        ),
        toolkit: described(
          matching(/^[A-Za-z0-9_]+$/, "may have letters, digits and _ only"),
          "The toolkit of its tools' ids in Open Tool Calling; the servlet's name by default. Several versions of a toolkit can be served at once; MCP sees the newest.",
        ),
        version: described(
          matching(
            /^(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}$/,
            "must be three numbers, such as 1.0.0",
          ),
          "The version of its tools in Open Tool Calling. 1.0.0 by default.",
        ),
        requirements: described(
          requirementsSchema(),
          "Credentials that a call of Open Tool Calling must provide. The servlet finds each in its config by its id (the user's by user_id), a secret also in the keyring, a token also by get_access_token.",
        ),
        lists: described(
          z.enum(["baked", "dynamic"]),
          "When the servlet is asked for its lists: when the bundle is made (by default), or at run time, for lists that depend on the world or, with `state`, on the caller's state. A plugin with `state` that imports `notify_tool_list_changed` or its like is asked at run time by default.",
        ),
        allowed_hosts: described(
          z.array(z.string().check(z.minLength(1))),
          "Hosts that its HTTP requests may reach: globs on the host name; private and local hosts must be named in full. None by default.",
        ),
        may_call: described(
          z.array(matching(/^[^:]+:.+$/, 'must be "SERVLET:TOOL", such as "weather:*"')),
          "Tools of other servlets that it may call, with the rights of its caller: `SERVLET:TOOL`, by the tools' own names; `*` stands for any characters. None by default.",
        ),
        confirm_calls: described(
          z.enum(["destructive", "writes"]),
          "Which of these calls its user must allow first: `writes` for all tools but those with `readOnlyHint`, `destructive` for all but those and the ones with `destructiveHint: false`. Calls that are made together are one question. None by default.",
        ),
        allowed_secrets: described(
          z.array(
            z.strictObject({
              service: z.string(),
              user: z.string(),
              variable: z.optional(
                described(z.string(), "The Worker secret that holds it; SERVICE_USER by default."),
              ),
            }),
          ),
          "Secrets that it may read with get_keyring_secret.",
        ),
        accounts: described(
          z.record(
            z.string(),
            z.strictObject({
              scopes: z.optional(
                described(
                  z.array(matching(/^\S+$/, "must be without white space, and not empty")),
                  "Scopes that it requests at the provider.",
                ),
              ),
              hosts: described(
                z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
                "Hosts to which requests with the account may go, as in allowed_hosts.",
              ),
              issuer: z.optional(
                described(
                  issuerUrl(),
                  "The issuer of its authorization server. Where ACCOUNTS lacks the name, the server makes itself a client there, by the issuer's metadata.",
                ),
              ),
              resource: z.optional(
                described(
                  resourceUrl(),
                  "The URL of the server that the access token is for (RFC 8707), such as that of an MCP server.",
                ),
              ),
            }),
          ),
          "Accounts of its caller that its requests may use, by the provider's name in the server's ACCOUNTS, or with an issuer. The server adds the access token; the servlet never sees it.",
        ),
        env_vars: described(
          z.record(z.string(), z.string("must be a text: put it in quotes")),
          "Its config. `${NAME}` and `${NAME:-default}` are replaced by the Worker's variables and secrets, except those of the server itself; `$${` is a literal `${`.",
        ),
        memory_limit: described(
          size(),
          'The most memory of one instance, for example "16Mi"; 64Mi by default. It bounds the memory that its state keeps, too.',
        ),
        compute_limit: described(
          z.number().check(z.positive(), z.maximum(300)),
          "How much one call may compute before it is stopped, in seconds of the most expensive instructions: ordinary code reaches it in an eighth to a half of that time. 3 by default; 10 for its start, lists and warm-up calls while a bundle is made. The Worker's own limit is limits.cpu_ms in wrangler.toml.",
        ),
        isolation: described(
          z.enum(["restored", "fresh"]),
          "Where a call's instance comes from: a used one that was restored byte by byte (by default), or a new one each time.",
        ),
        state: described(
          z.enum(["call", "session", "caller", "server"]),
          "How long its memory and variables last: for one call (by default), or from each successful call to the next one of the same session, the same caller, or any caller (server). A client without sessions has the state of its caller.",
        ),
        allowed_paths: described(
          z.array(z.string()),
          "Its folders, kept with its state: `HOST:PLUGIN`, or `PATH` for both, with `ro:` before it for read-only. HOST is a folder beside the manifest with the files that are there to begin with, or the name of an empty store.",
        ),
        files_limit: described(
          size(),
          'The most that its files take in one scope, for example "10Mi"; 256Mi by default.',
        ),
        on_new_build: described(
          z.enum(["anew", "keep-calls-on-old"]),
          "What happens when its build changes, as memory of one build cannot be used by another: its memory starts empty (by default; files stay). keep-calls-on-old is refused: a call that waits would need the memory of the old build.",
        ),
        start: described(
          z.enum(["call", "once"]),
          "When its start functions run: in each call if they ask for the time or random numbers (by default), or once when the bundle is made. Then the random numbers of its start are the same in each call.",
        ),
        warm: described(
          z.array(
            z.strictObject({
              tool: z.string(),
              arguments: z.optional(z.record(z.string(), z.unknown())),
            }),
          ),
          "Calls that are made when the bundle is made, and whose effect on its memory is there when each call begins: for what it would set up in every call. They may ask for the time and random numbers, and for nothing else.",
        ),
        request_ids: described(
          z.enum(["string", "as-given"]),
          "Whether the servlet gets request ids and progress tokens as strings (by default) or as the client sent them.",
        ),
        tools: described(
          z.record(
            z.string(),
            z.strictObject({
              description: z.optional(
                described(
                  z.string().check(z.minLength(1), z.maxLength(4000)),
                  "What it does, for models: in place of its own description, as for components, which have none.",
                ),
              ),
              task: z.optional(
                described(
                  z.enum(["never", "auto", "always", "required"]),
                  "Which calls become tasks where the client takes them: none (never), long ones (auto), all (always), or all, and other clients are refused (required). The tool's taskSupport by default, or auto.",
                ),
              ),
              asks: z.optional(
                described(
                  z.boolean(),
                  "Whether its calls may ask the user; then the server's page says so, and clients see `get_result`. The default is whether the servlet's code can ask.",
                ),
              ),
              visibility: z.optional(
                described(
                  z.array(z.enum(["model", "app"])).check(z.minLength(1)),
                  'Who may call it: models, the servlet\'s views ("app"), or both (by default).',
                ),
              ),
              aliases: z.optional(
                described(
                  z
                    .array(matching(/^[\w./-]{1,128}$/, "is no name of a tool"))
                    .check(z.maxLength(10)),
                  "Earlier names of the tool, without the prefix. They are not listed; a call by one is a call of the tool, for clients that keep old lists.",
                ),
              ),
              output: z.optional(
                described(z.null(), "null if calls have no value in Open Tool Calling."),
              ),
              requirements: z.optional(
                described(
                  requirementsSchema(),
                  "Credentials for this tool, instead of the servlet's requirements.",
                ),
              ),
            }),
          ),
          "Facts about tools that the servlet cannot state itself, by the tools' own names.",
        ),
        views: described(
          z.record(
            matching(/^[a-z0-9][a-z0-9_-]{0,63}$/, "may have small letters, digits, _ and - only"),
            view(),
          ),
          "Pages on which clients show results of its tools (MCP Apps), by name: the resource of each is ui://SERVLET/NAME.",
        ),
        schedules: described(
          z
            .record(
              matching(/^[\w.-]{1,64}$/, "may have letters, digits, _, . and - only"),
              z
                .strictObject({
                  cron: z.optional(
                    described(
                      z.string().check(z.minLength(1), z.maxLength(200)),
                      "Minute, hour, day of the month, month and day of the week.",
                    ),
                  ),
                  timeZone: z.optional(
                    described(
                      z.string().check(z.minLength(1), z.maxLength(100)),
                      "Of the cron line, by its IANA name. UTC by default.",
                    ),
                  ),
                  every: z.optional(
                    described(z.int().check(z.positive()), "A period in ms, in place of `cron`."),
                  ),
                  tool: z.optional(
                    described(
                      z.string().check(z.minLength(1)),
                      "A tool of this servlet that is called, in place of its export `run_schedule`.",
                    ),
                  ),
                  arguments: z.optional(
                    described(z.record(z.string(), z.unknown()), "The arguments of the tool."),
                  ),
                })
                .check(
                  z.refine(
                    ({ cron, every }) => (cron === undefined) !== (every === undefined),
                    "needs either cron or every",
                  ),
                ),
            )
            .check(
              z.refine((schedules) => Object.keys(schedules).length <= limits.declaredSchedules, {
                error: () => `has too many schedules (limit ${limits.declaredSchedules})`,
              }),
            ),
          "Times at which it runs by itself, as `servlet:NAME` and with the rights of this manifest.",
        ),
        events: described(
          z
            .record(
              matching(
                EVENT_NAME,
                "may have letters, digits, _, . and - only, at most 64, and begins with a letter or digit",
              ),
              event(),
            )
            .check(
              z.refine((events) => Object.keys(events).length <= limits.eventTypes, {
                error: () => `has too many events (limit ${limits.eventTypes})`,
              }),
            ),
          "The types of events that it emits, by name. Each is also the resource event://SERVLET/NAME, its newest event.",
        ),
        webhooks: described(
          webhooksSchema(),
          "Addresses at which it receives requests of other services, by name: `/hooks/SERVLET/NAME`. The export `receive_webhook` handles them.",
        ),
        files: described(
          z.strictObject({
            resultsOver: z.optional(
              described(
                z.int().check(z.minimum(1000), z.maximum(limits.outputBytes)),
                "A result whose text has more characters than this becomes a file: the caller gets its first part, and how to read on.",
              ),
            ),
          }),
          "It makes or takes files: `context.file` and `context.open` work, and callers can read what it makes in parts.",
        ),
        snippets: described(
          z.string().check(z.minLength(1)),
          "Its tool that runs a saved snippet, as `run_snippet` of the servlet `code` does. With it, callers' snippets that are `listed` are tools of theirs, and calls of these are calls of this tool. The servlet needs `state` of a caller or a session.",
        ),
        single_use_state: described(
          z.boolean(),
          "A call that waits for input may go on with one set of answers only. For actions that must not happen twice, such as a redemption.",
        ),
        resend_requests: described(
          z.boolean(),
          "Send POST and PATCH requests again, with the same Idempotency-Key, if a crash left their outcome unknown. By default the servlet gets an error that says so.",
        ),
        skip_tools: described(
          z.array(pattern()),
          "Tools that are not offered: regular expressions that match whole names.",
        ),
        skip_prompts: described(z.array(pattern()), "Prompts that are not offered."),
        skip_resources: described(z.array(pattern()), "Resources that are not offered, by URI."),
        skip_resource_templates: described(
          z.array(pattern()),
          "Resource templates that are not offered, by URI template.",
        ),
      }),
    )
    .check(
      z.superRefine((manifest, { addIssue }) => {
        for (const problem of ownVariablesIn(manifest)) addIssue(problem);
        // In the state of a server, one caller's scripts would run for all others.
        if (
          manifest.snippets !== undefined &&
          !["caller", "session"].includes(manifest.state ?? "")
        )
          addIssue('snippets needs "state" of a caller or a session: write "state": "caller"');
        const { accounts = {}, allowed_hosts = [] } = manifest;
        for (const [account, { hosts }] of Object.entries(accounts)) {
          const missing = hosts.find((host) => !allowed_hosts.some((one) => fits(one, host, "?")));
          if (missing !== undefined)
            addIssue(
              `accounts.${account}.hosts has ${missing}, which allowed_hosts lacks: add it there`,
            );
        }
      }),
    ),
);

export type Manifest = z.infer<ReturnType<typeof manifestSchema>>;

/** True if the servlet's calls begin with the memory of an earlier call. */
export const keepsState = ({ state = "call" }: Pick<Manifest, "state">): boolean =>
  state !== "call";

/** The fuel of one run, from the manifest; undefined for the default. */
export const fuelOf = ({ compute_limit: seconds }: Manifest): number | undefined =>
  seconds && Math.ceil(seconds * limits.fuelPerSecond);

/** A manifest as read from JSON, with its camelCase keys renamed to those of the schema. */
export function normaliseKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      member,
    ]),
  );
}
