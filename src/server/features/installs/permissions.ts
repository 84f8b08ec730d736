import { limits } from "./limits.ts";
import type { Lists } from "../../kernel/core/model.ts";
import type { Skill } from "../../kernel/servlets/bundle.ts";
import { fuelOf, type Manifest } from "../../kernel/servlets/manifest.ts";
import { namesIn, variableOf } from "../../kernel/servlets/variables.ts";
import { verificationInWords } from "../../kernel/servlets/webhook-schema.ts";
import { mebibytes, memoryBytes, printable, shortened } from "../../kernel/core/text.ts";
import type { Build } from "./build.ts";

/** The permissions and lists of a servlet, as lines for the person who approves it. Settings show their variables. */
export function permissionsOf({
  manifest,
  lists,
  skills,
}: Pick<Build, "manifest" | "lists" | "skills">): string[] {
  const { allowed_hosts, allowed_paths, may_call, confirm_calls } = manifest;
  const all: [string, readonly string[] | undefined][] = [
    ["It may reach these hosts", allowed_hosts?.map(asOne)],
    ["It may call these tools of other servlets, as its caller", may_call?.map(asOne)],
    ["It runs by itself", schedulesOf(manifest)],
    ["Its callers must allow first", confirm_calls && [CONFIRMED[confirm_calls]]],
    ["It may read these secrets", secretsOf(manifest)],
    ["It may use its callers' accounts", accountsOf(manifest)],
    ["It emits these events", eventsOf(manifest)],
    ["It makes or takes files", fileUseOf(manifest)],
    ["It receives requests of other services at these webhooks", webhooksOf(manifest)],
    ["It gets these settings", settingsOf(manifest)],
    ["It keeps memory and files for", keptFor(manifest)],
    ["It has these folders", allowed_paths?.map(asOne)],
    ["It shows these pages in clients", viewsIn(manifest)],
    ["It brings these instructions, which models obey", instructionsIn(manifest, skills)],
    ["Calls of Open Tool Calling must bring it", requiredBy(manifest)],
    ["It may take", [boundsOf(manifest)]],
    // Last: a long list must not hide the others.
    ...offersOf(lists),
  ];
  return all.flatMap(([what, names = []]) =>
    names.length === 0 ? [] : [printable(`${what}: ${names.join(", ")}.`)],
  );
}

/** Calls of other servlets' tools that a user must allow first, by `confirm_calls`. */
export const CONFIRMED = {
  destructive: "calls that may destroy something",
  writes: "calls that do more than read",
} as const;

/** For whom a servlet keeps memory and files, such as `each caller`; empty if it keeps nothing. */
export function keptFor({ state = "call" }: Manifest): readonly string[] {
  if (state === "call") return [];
  return [state === "server" ? "all callers together" : `each ${state}`];
}

/** When a servlet runs by itself. */
export const schedulesOf = ({ schedules = {} }: Manifest): string[] =>
  Object.entries(schedules).map(([name, { cron, timeZone = "UTC", every = 0 }]) =>
    cron === undefined
      ? `${asOne(name)} (every ${Math.ceil(every / 60_000)} min)`
      : `${asOne(name)} (${asOne(cron)} ${asOne(timeZone)})`,
  );

/** The secrets that a servlet may read, each with the Worker variable that holds it. */
export const secretsOf = ({ allowed_secrets = [] }: Manifest): string[] =>
  allowed_secrets.map(
    (one) => `${asPart(one.service)}/${asPart(one.user)} (the Worker's ${variableOf(one)})`,
  );

/** The webhooks of a servlet, each with how its deliveries are verified. */
export const webhooksOf = ({ webhooks = {} }: Manifest): string[] =>
  Object.entries(webhooks).map(
    ([name, { verify }]) => `${asOne(name)} (${verificationInWords(verify)})`,
  );

/** The settings of a servlet, each with the Worker variables used in it. */
export const settingsOf = ({ env_vars = {} }: Manifest): string[] =>
  Object.entries(env_vars).map(([key, text]) => {
    const names = [...new Set(namesIn(text))];
    return names.length === 0
      ? asOne(key)
      : `${asOne(key)} (from the Worker's ${names.join(" and ")})`;
  });

/** The accounts of callers that a servlet may use, each with its scopes, hosts and issuer. */
export const accountsOf = ({ accounts = {} }: Manifest): string[] =>
  Object.entries(accounts).map(([name, { scopes = [], hosts, issuer, resource }]) => {
    const asked = scopes.length === 0 ? "no scopes" : scopes.map(asOne).join(" ");
    const from = issuer === undefined ? "" : ` by the issuer ${asOne(issuer)}`;
    const whose = resource === undefined ? "" : ` for ${asOne(resource)}`;
    return `${asOne(name)} (${asked}) at ${hosts.map(asOne).join(" and ")}${from}${whose}`;
  });

/** The events of a servlet, each with whether it may be for everyone. */
export const eventsOf = ({ events = {} }: Manifest): string[] =>
  Object.entries(events).map(([name, { to }]) => (to ? `${asOne(name)} (to ${to})` : asOne(name)));

/** Whether a servlet makes or takes files of its callers. */
export const fileUseOf = ({ files }: Manifest): string[] =>
  files === undefined
    ? []
    : [
        files.resultsOver === undefined
          ? "yes"
          : `also of results over ${files.resultsOver} characters`,
      ];

/** The views of a servlet, each with its permissions in a client: hosts to load from or connect to, and devices. */
const viewsIn = ({ views = {} }: Manifest): string[] =>
  Object.entries(views).map(([name, { tools = [], csp = {}, permissions = [] }]) => {
    const hosts = [...new Set(Object.values(csp).flat())];
    const all: [string, readonly string[]][] = [
      ["for", tools.map(asOne)],
      ["with", hosts.map(asOne)],
      ["may use", permissions],
    ];
    const facts = all.flatMap(([what, of]) =>
      of.length === 0 ? [] : `${what} ${of.join(" and ")}`,
    );
    return facts.length === 0 ? name : `${name} (${facts.join(", ")})`;
  });

const instructionsIn = ({ instructions }: Manifest, skills: Build["skills"]): string[] => [
  ...(instructions === undefined ? [] : [asOne(instructions)]),
  ...(skills?.skills ?? []).map(instructionOf),
];

const instructionOf = ({ path, frontmatter }: Skill): string =>
  `${asOne(path)} (${shortened(frontmatter.description, 200)})`;

/** The credentials that callers must send, for all or some of a servlet's tools. */
function requiredBy({ requirements, tools = {} }: Manifest): string[] {
  const all = [requirements, ...Object.values(tools).map((tool) => tool.requirements)];
  const required = all.flatMap(({ authorization = [], secrets = [], user_id } = {}) => [
    ...authorization.map(({ id }) => `the token ${asOne(id)}`),
    ...secrets.map(({ id }) => `the secret ${asOne(id)}`),
    ...(user_id === true ? ["the id of the user"] : []),
  ]);
  return [...new Set(required)];
}

/** A name that a servlet's author chose, in quotes where it could look like more than one name. */
const asOne = (name: string): string =>
  name === "" || /[\s,()"]/.test(name) ? JSON.stringify(name) : name;

/** A part of a name with slashes. */
const asPart = (name: string): string => (name.includes("/") ? JSON.stringify(name) : asOne(name));

function offersOf(lists: Lists | undefined): [string, readonly string[]][] {
  if (lists === undefined) return [["It lists its tools", ["when it runs"]]];
  return [
    ["Its tools", someOf(lists.tools.map(({ name }) => name))],
    ["Its prompts", someOf(lists.prompts.map(({ name }) => name))],
    ["Its resources", someOf(lists.resources.map(({ uri }) => uri))],
    [
      "Its resource templates",
      someOf(lists.resourceTemplates.map(({ uriTemplate }) => uriTemplate)),
    ],
  ];
}

function someOf(names: readonly string[]): string[] {
  const shown = names
    .slice(0, limits.approvedNames)
    .map((name) => asOne(shortened(name, limits.approvedCharacters)));
  const others = names.length - shown.length;
  return others > 0 ? [...shown, `and ${others} more`] : shown;
}

/** The limits of memory and computing time of a call, in words. */
export function boundsOf(manifest: Manifest): string {
  const memory = memoryBytes(manifest.memory_limit ?? "") ?? limits.memoryBytes;
  const seconds = (fuelOf(manifest) ?? limits.guestFuel) / limits.fuelPerSecond;
  return `${mebibytes(memory)} of memory, ${seconds} s of computing in a call`;
}
