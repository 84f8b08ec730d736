/** The pages for operators, and the actions of their buttons. */
import { isListed } from "../servlets/catalog.ts";
import { unsettled } from "../core/settled.ts";
import { installerOf } from "../operator/builds.ts";
import type { Installer } from "../installs/installer.ts";
import { permissionsOf } from "../installs/permissions.ts";
import { apiKeysOf, unknownScope } from "../settings/env.ts";
import { hexDigest } from "../core/digest.ts";
import { KEY_NAME, KEY_NAME_RULE, KEY_PREFIX, scopesInWords } from "../core/key-name.ts";
import { Fault, report } from "../core/errors.ts";
import { isObject, type Principal } from "../core/model.ts";
import { beyondOwn, grants } from "../servlets/scopes.ts";
import { limits, publicLimits } from "../core/limits.ts";
import { storageRoom } from "../core/storage-room.ts";
import { pageFor, pageStatus, seeOther, type View, type Visit } from "./view.ts";
import type { ConsoleServer } from "./console-server.ts";
import { consolePage, type ConsoleSite, type Visited, type Visitor } from "./frame.ts";
import { PAGES, SIGN_IN_PATH } from "./paths.ts";
import { endpointOf } from "./connect.ts";
import {
  confirmPage,
  keyPage,
  operatePage,
  operateStyle,
  type Overview,
  type WrongKey,
} from "./operate.ts";
import { timeAgo } from "./times.ts";
import { count } from "./units.ts";
import type { HonoBase } from "hono/hono-base";
import { html } from "hono/html";
import { endpointPath } from "../auth/metadata.ts";
import { demandOwnOrigin } from "../auth/origin.ts";
import type { Markup } from "../http/document.ts";
import { chartStyle, questionIn, usagePage } from "./usage.ts";

type Operated = Pick<
  ConsoleServer,
  | "acted"
  | "authenticator"
  | "usage"
  | "keyRecords"
  | "settings"
  | "deployment"
  | "persons"
  | "installer"
  | "registry"
>;

const PLACE = "operate";

/** Messages by the `done` parameter of the URL, whose own text is never shown. */
const DONE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    install: "The servlet is installed. All isolates serve it within seconds.",
    rollback: "The older version is installed. All isolates serve it within seconds.",
    uninstall: "The servlet is uninstalled.",
    revoke: "The key is revoked. It is refused everywhere within 30 seconds.",
    restore: "The key is valid again.",
    remove: "The key is removed.",
  }),
);

interface Acting {
  server: Operated;
  visit: Visit;
  token: string;
}

/** Actions that delete or revoke. */
const DANGEROUS = new Set(["uninstall", "revoke", "remove"]);

/** Performs a button's action, or asks for confirmation; undefined for an unknown button. */
async function act(form: URLSearchParams, acting: Acting): Promise<View | undefined> {
  const { server, visit, token } = acting;
  const { acted, authenticator, keyRecords } = server;
  const field = (name: string) => form.get(name) ?? "";
  const [name, key, by] = [field("name"), field("key"), visit.person.principal.name];
  const what = field("do");
  const done = async (said: string, isNews = true): Promise<View> => {
    if (isNews) await acted(by, "page", said);
    return seeOther(`${PAGES.Operate}?done=${what}`);
  };
  /** Asks before what follows from `ask-…`: a button with `label` posts these fields. */
  const confirm = (
    title: string,
    lines: readonly string[],
    fields: Record<string, string>,
    label = title,
  ): View => {
    const action = what.slice("ask-".length);
    const question = { title: `${title}?`, lines, label, isDanger: DANGEROUS.has(action) };
    const body = confirmPage(token, { ...question, of: { do: action, ...fields } });
    return { status: 200, body };
  };
  switch (what) {
    case "ask-install": {
      const installer = installerOf(server);
      const digest = field("digest");
      const build = await publishedBuild(installer, name, digest);
      const lines = ["All callers of this server can use it.", ...permissionsOf(build)];
      lines.push(...(await installer.warnings(build)));
      return confirm(`Install ${name}`, lines, { name, digest });
    }
    case "install": {
      const installer = installerOf(server);
      const build = await publishedBuild(installer, name, field("digest"));
      const { version, isNew } = await installer.install(build, by);
      return done(`Installed ${name}, version ${version}.`, isNew);
    }
    case "ask-rollback": {
      const [version, seen] = [field("version"), field("seen")];
      const { versions } = await installerOf(server).installs().versions(name);
      const older = versions.find((one) => String(one.version) === version);
      if (older === undefined)
        throw new Fault("conflict", "This version is no longer there. Reload the page.");
      const lines = [
        `All callers get version ${version}, which ${older.by} installed. Its build is ${older.hash.slice(0, 12)}.`,
        await waitingLine(server, name),
      ];
      const label = `Roll ${name} back to ${version}`;
      return confirm(
        `Roll ${name} back to version ${version}`,
        lines,
        { name, version, seen },
        label,
      );
    }
    case "rollback": {
      const [version, seen] = [Number(field("version")), Number(field("seen"))];
      unsettled(await installerOf(server).installs().rollBack(name, version, seen));
      return done(`Rolled ${name} back to version ${version}.`);
    }
    case "ask-uninstall": {
      const { current } = await installerOf(server).installs().versions(name);
      const lines = [
        "Its tools and all its versions are removed for all callers.",
        await waitingLine(server, name),
        "What it has stored for callers stays until you delete it: npm run servlets -- state delete.",
      ];
      return confirm(`Uninstall ${name}`, lines, { name, seen: String(current ?? 0) });
    }
    case "uninstall": {
      const installs = installerOf(server).installs();
      unsettled(await installs.uninstall(name, Number(field("seen"))));
      return done(`Uninstalled ${name}.`);
    }
    case "ask-revoke": {
      const { made, name: its } = await keyOf(key, server);
      const left = (await allKeys(server))
        .filter((one) => one.made?.by === its && one.revoked === null && one.key !== key)
        .map((one) => one.name);
      const isOwn = authenticator.keys.named(by)?.hash.toHex() === key;
      const lines = [
        "The key is refused everywhere within 30 seconds.",
        ...(left.length > 0
          ? [
              `Keys that ${its} made stay valid: ${left.join(", ")}. If somebody else had this key, revoke them, too.`,
            ]
          : []),
        `Calls that were made with it continue${await waitingNow(server, "caller", its)}. Until you restore the key, nobody can answer their questions or get their results with it.`,
      ];
      if (made === undefined)
        lines.push(`Take it out of the configuration, too: npm run keys -- revoke ${its}.`);
      if (isOwn) lines.push("You are signed in with this key, and will be signed out.");
      return confirm(`Revoke the key ${its}`, lines, { name: its, key }, `Revoke ${its}`);
    }
    case "ask-restore": {
      const { scopes, name: its } = await restorable(key, acting);
      const lines = [
        `The key is valid again within seconds, and may call: ${scopesInWords(scopes)}.`,
        "Do not restore a key that somebody else may have: make a new one.",
      ];
      return confirm(`Restore the key ${its}`, lines, { name: its, key }, `Restore ${its}`);
    }
    case "ask-remove": {
      const { name: its } = await keyOf(key, server);
      const lines = [
        "The key stays refused and leaves the list. It cannot be restored.",
        `Calls that were made with it continue${await waitingNow(server, "caller", its)}, until they end or their stored data is deleted.`,
        `Everything that is kept for ${its} stays, and a new key of this name would have it.`,
      ];
      return confirm(`Remove the key ${its}`, lines, { name: its, key }, `Remove ${its}`);
    }
    case "revoke": {
      const { name: revoked } = await keyOf(key, server);
      await recordsIn(keyRecords).revoke(key, by);
      return done(`Revoked the key ${revoked}.`);
    }
    case "restore": {
      const { name: restored } = await restorable(key, acting);
      await recordsIn(keyRecords).restore(key);
      return done(`Restored the key ${restored}.`);
    }
    case "remove": {
      const { name: removed } = await keyOf(key, server);
      await recordsIn(keyRecords).remove(key, by);
      return done(`Removed the key ${removed}.`);
    }
    case "make": {
      const { secret, made } = await newKey(form, visit.person.principal, server);
      if (authenticator.keys.named(made.name) !== undefined)
        throw new Fault("conflict", `There is a key ${made.name} already. Take another name.`, {
          data: { field: "name" },
        });
      unsettled(await recordsIn(keyRecords).make(made));
      const may = scopesInWords(made.scopes ?? undefined);
      await acted(by, "page", `Made the key ${made.name}, which may call ${may}.`);
      const endpoint = endpointOf(server, new URL(endpointPath(undefined), visit.request.url).href);
      const unfitting = (await unfittingAmong(made.scopes ?? [], server)) ?? [];
      const body = keyPage(made.name, { ...endpoint, key: secret }, unfitting);
      return { status: 200, body };
    }
    default:
      return undefined;
  }
}

/** Undefined where the counters cannot be read: keys are revoked all the same. */
const counted = <T>(work: Promise<T> | undefined): Promise<T | undefined> =>
  Promise.resolve(work).catch((error: unknown) => void report(error));

/** `; 2 of them wait now`, if any are known to wait. */
async function waitingNow({ usage }: Operated, by: "servlet" | "caller", name: string) {
  const waiting = (await counted(usage?.().waitingOf(by, name))) ?? 0;
  return waiting === 0 ? "" : `; ${count(waiting)} of them ${waiting === 1 ? "waits" : "wait"} now`;
}

/** How a change of a servlet affects its calls. */
const waitingLine = async (of: Operated, name: string) =>
  `Calls that wait end on the build that they began with${await waitingNow(of, "servlet", name)}. If the servlet keeps state, they end with an error that says to call again.`;

function recordsIn(records: Operated["keyRecords"]) {
  if (records !== undefined) return records();
  throw new Fault(
    "unavailable",
    "Keys cannot be revoked here: bind the Durable Object KEY_RECORDS in wrangler.toml, or remove the key from the configuration (npm run keys -- revoke NAME).",
  );
}

/** All API keys, with the records of their use. */
async function allKeys({ keyRecords, settings }: Pick<Operated, "keyRecords" | "settings">) {
  const records = keyRecords?.();
  const [used = [], made = []] = [await records?.all(), await records?.made()];
  const recordOf = new Map(used.map((one) => [one.key, one]));
  const configured = apiKeysOf(settings).map(({ name, scopes, expires, hash }) => ({
    ...{ name, scopes, expires, key: hash.toHex(), made: undefined },
  }));
  const added = made.map(({ name, scopes, expires, key, made: at, maker }) => ({
    ...{ name, scopes: scopes ?? undefined, expires: expires ?? undefined, key },
    made: { at, by: maker },
  }));
  return [...configured, ...added].map((one) => ({
    ...{ used: null, revoked: null, by: null, ...recordOf.get(one.key) },
    ...one,
  }));
}

/** The key with this hash. Throws `invalid_params` where there is none by now. */
async function keyOf(key: string, of: Operated) {
  const found = (await allKeys(of)).find((one) => one.key === key);
  if (found !== undefined) return found;
  throw new Fault("invalid_params", "This key is no longer there. Reload the page.");
}

const DAY_MS = 86_400_000;
/** Every isolate has those of all keys. */
const SCOPES_CHARACTERS = 2000;

/** The key that a form describes, and its secret, which is kept nowhere. Throws `invalid_params` about a field. */
async function newKey(
  form: URLSearchParams,
  operator: Principal,
  of: Pick<Operated, "settings" | "authenticator">,
) {
  const { SCOPES = {} } = of.settings;
  const field = (one: string) => form.get(one)?.trim() ?? "";
  const demand = (isRight: boolean, name: string, message: string) => {
    if (!isRight) throw new Fault("invalid_params", message, { data: { field: name } });
  };
  const [name, listed, days] = [field("name"), field("scopes"), field("days")];
  demand(KEY_NAME.test(name), "name", `The name of a key ${KEY_NAME_RULE}.`);
  demand(
    listed.length <= SCOPES_CHARACTERS,
    "scopes",
    `The scopes of a key have at most ${SCOPES_CHARACTERS} characters.`,
  );
  const scopes = listed === "" ? null : listed.split(/[\s,]+/).filter(Boolean);
  const unknown = scopes === null ? undefined : unknownScope(scopes, SCOPES);
  demand(
    unknown === undefined,
    "scopes",
    `${unknown} is no scope. Each is servlet:tool, in which * stands for anything, or a name that SCOPES has.`,
  );
  const expires = days === "" ? null : Date.now() + Number(days) * DAY_MS;
  const beyond = beyondOperator({ scopes, expires }, operator, of);
  demand(
    beyond?.scope === undefined,
    "scopes",
    `Your own key does not grant ${beyond?.scope}, so a key that you make cannot. Leave it out, or ask the owner of this server.`,
  );
  demand(
    days === "" || (Number(days) >= 1 && Number(days) <= 3660),
    "days",
    "The days of a key are a number from 1 to 3660, or none.",
  );
  demand(
    beyond?.end === undefined,
    "days",
    `Your own key expires ${timeAgo(beyond?.end ?? 0)}, and a key that you make cannot last longer. Give fewer days, or sign in with a key that lasts longer.`,
  );
  const random = crypto.getRandomValues(new Uint8Array(32));
  const secret = KEY_PREFIX + random.toBase64({ alphabet: "base64url", omitPadding: true });
  return {
    secret,
    made: { key: await hexDigest(secret), name, scopes, expires, maker: operator.name },
  };
}

/**
 * The first right that a key would have beyond its operator's own key: a scope (`*:*` if the key has no scopes), or an expiry
 * (Unix ms) after `end`. Undefined if there is none.
 */
function beyondOperator(
  { scopes, expires }: { scopes?: readonly string[] | null; expires?: number | null },
  { name, scopes: own }: Principal,
  { settings: { SCOPES = {} }, authenticator }: Pick<Operated, "settings" | "authenticator">,
): { scope?: string; end?: number } | undefined {
  const scope = beyondOwn(scopes ?? ["*:*"], own, SCOPES);
  if (scope !== undefined) return { scope };
  const { expires: end = Infinity } = authenticator.keys.named(name) ?? {};
  return (expires ?? Infinity) > end ? { end } : undefined;
}

/** The key with this hash. Throws `insufficient_scope` if it grants more than the key of the operator who restores it, `invalid_params`. */
async function restorable(key: string, acting: Acting) {
  const { server, visit } = acting;
  const found = await keyOf(key, server);
  const beyond = beyondOperator(found, visit.person.principal, server);
  if (beyond === undefined) return found;
  const why =
    beyond.scope === undefined
      ? `expires ${timeAgo(beyond.end!)}, before this one`
      : `does not grant ${beyond.scope}`;
  throw new Fault(
    "forbidden",
    `Your own key ${why}, so you cannot restore ${found.name}. Ask the owner of this server.`,
  );
}

/** The scope patterns that match nothing the server offers now; undefined if that is unknown. */
async function unfittingAmong(scopes: readonly string[], operated: Operated) {
  const { whole } = await operated.registry();
  const catalog = await whole.catalog().catch((error: unknown) => void report(error));
  if (catalog === undefined) return undefined;
  const { versions, prompts, resources, templates, failures } = catalog;
  const named = [
    ...versions,
    ...prompts.values(),
    ...[...resources].map(([own, { servlet }]) => ({ servlet, own })),
  ];
  // The names of a template, or of a servlet whose lists are unavailable, are unknown.
  const open = [...templates.map(({ servlet }) => servlet.name), ...(failures?.keys() ?? [])];
  return scopes.filter((scope) => {
    const [servlet = "", own] = scope.split(":", 2);
    if (own === undefined || servlet === "profile") return false;
    const isOpen = open.some((name) => grants(`${servlet}:*`, name, ""));
    return !isOpen && !named.some((one) => grants(scope, one.servlet.name, one.own));
  });
}

/** The published build of this name, if it is still the one that the operator saw. Throws `conflict`. */
async function publishedBuild(installer: Installer, name: string, digest: string) {
  const published = await installer.published(name);
  if (published?.digest === digest) return published.build;
  throw new Fault("conflict", `The published build of ${name} has changed since. Reload the page.`);
}

/** The last errors, with a way to the calls of this operator that are listed in Live. */
async function errorsFor({ usage, persons }: Operated, operator: string) {
  const errors = await counted(usage?.().errors());
  const hasOwn = errors?.some(({ caller, task }) => task !== null && caller === operator) === true;
  const listed = hasOwn
    ? await persons?.at(operator, async (object) => object.listed(operator))
    : undefined;
  const open = new Set(listed?.map(({ id }) => id));
  return errors?.map((one) => ({ ...one, isOpen: one.task !== null && open.has(one.task) }));
}

async function overviewOf(
  operated: Operated,
  { token, done, operator }: { token: string; done: string | undefined; operator: string },
): Promise<Overview> {
  const { usage: counters, authenticator, keyRecords } = operated;
  const { whole } = await operated.registry();
  const installs = operated.installer?.installs();
  const list = (await installs?.list()) ?? [];
  const versions = new Map(list.map((one) => [one.name, one.version]));
  const installed = await Promise.all(
    list.map(async ({ name }) => ({ name, ...(await installs!.versions(name)) })),
  );
  let problem: string | undefined;
  const catalog = await whole.catalog().catch((error: unknown) => {
    problem = report(error).message;
  });
  const entries = new Map<string, number>();
  const resources = [...(catalog?.resources.values() ?? [])].filter(isListed);
  for (const kind of [catalog?.tools.values(), catalog?.prompts.values(), resources]) {
    for (const { servlet } of kind ?? [])
      entries.set(servlet.name, (entries.get(servlet.name) ?? 0) + 1);
  }
  const usage = counters?.();
  const hour = (await counted(usage?.report("hour", "servlet")))?.named;
  const runsOf = new Map(hour?.map(({ name, sums }) => [name, sums]));
  return {
    servlets: whole.servlets.map((one) => {
      const { name, hash, dialect, manifest } = one;
      const { state = "call" } = manifest;
      const version = versions.get(name);
      const ownOr = operated.deployment.own?.has(one) ? "this server" : "the bundle";
      const from = version === undefined ? ownOr : `version ${version}`;
      const runs = hour && (runsOf.get(name) ?? { runs: 0, errors: 0 });
      return { name, hash, dialect, state, from, entries: entries.get(name) ?? 0, runs };
    }),
    isStorageFull: storageRoom.isFull,
    problem,
    installed: operated.installer && installed,
    installable: (await operated.installer?.installable()) ?? [],
    keys: await allKeys(operated),
    makesKeys: keyRecords !== undefined && !authenticator.isOpen,
    acts: await counted(usage?.acts()),
    errors: await errorsFor(operated, operator),
    limits: Object.entries(publicLimits).map(([name, usual]) => ({
      ...{ name, value: limits[name as keyof typeof publicLimits], usual },
    })),
    token,
    done,
  };
}

/** How the console knows its visitors, and shows itself to them. */
interface Visits {
  visited: Visited;
  visitorOf(raw: Request): Promise<Visitor>;
  siteFor(visitor: Visitor): ConsoleSite;
}

/** Adds the routes of these pages. */
export function addOperatorPages(
  app: HonoBase,
  server: ConsoleServer,
  { visited, visitorOf, siteFor }: Visits,
): void {
  const { paged } = server;

  app.get(PAGES.Usage, ({ req: { raw } }) =>
    visited(raw, async (visitor, quota) => {
      demandOwnOrigin(raw);
      const site = siteFor(visitor);
      if (!visitor.isOperator) return refused(site, visitor);
      await quota.admit?.();
      const usage = server.usage?.();
      if (usage === undefined) return consolePage(site, "Usage", unbound);
      const question = questionIn(raw.url);
      const all = await counted(usage.report(question.over, question.by));
      if (all === undefined) return consolePage(site, "Usage", unanswered, { status: 503 });
      const body = usagePage(question, all, Date.now());
      return consolePage(site, "Usage", body, { extraStyle: chartStyle });
    }),
  );

  if (paged === undefined) return;
  app.on(["GET", "POST"], PAGES.Operate, ({ req: { raw } }) =>
    paged(raw, async (page) => {
      const visitor = await visitorOf(raw);
      const site = siteFor(visitor);
      return pageFor(raw, page, {
        answer: ({ body, ...how }) =>
          consolePage(site, "Operate", body, { ...how, extraStyle: operateStyle }),
        async work(visit) {
          // Right after a sign-in, the page is opened by a new request.
          if (visit.isOld) return seeOther(PAGES.Operate);
          if (!visitor.isOperator) return { status: 403, body: forOperators };
          const { people } = page;
          const { form, person } = visit;
          const token = await people.token(person, PLACE);
          const operator = person.principal.name;
          const done = DONE.get(new URL(raw.url).searchParams.get("done") ?? "");
          const view = async (status: number, wrong?: WrongKey) => {
            const overview = await overviewOf(server, { token, done, operator });
            return { status, body: operatePage({ ...overview, wrong }) };
          };
          if (form === undefined) return view(200);
          if (!(await people.isForm(form, person, PLACE))) return view(403);
          try {
            return (await act(form, { server, visit, token })) ?? (await view(400));
          } catch (error) {
            const fault = Fault.from(error);
            const { data, message } = fault;
            if (!isObject(data) || typeof data["field"] !== "string") throw error;
            return view(pageStatus(fault), { form, field: data["field"], message });
          }
        },
      });
    }),
  );
}

const unbound = html`<h1>Usage</h1>
  <p>
    Nothing is counted: bind the Durable Object <code>USAGE</code> (class <code>Usage</code>) in
    <code>wrangler.toml</code> and deploy again.
  </p>`;

const unanswered = html`<h1>Usage</h1>
  <p>
    The counters do not answer. Servlets run all the same. Reload the page in a minute; the log says
    why (<code>npx wrangler tail</code>).
  </p>`;

/** Leads visitors who have not signed in to the sign-in, and refuses others. */
function refused(site: ConsoleSite, { person }: Visitor) {
  if (person !== undefined || !site.hasSignIn)
    return consolePage(site, "Usage", forOperators, { status: 403 });
  const location = `${SIGN_IN_PATH}?back=${encodeURIComponent(PAGES.Usage)}`;
  return new Response(null, { status: 303, headers: { location } });
}

const forOperators: Markup = html`<h1>This page is for operators</h1>
  <p>
    Sign in as the owner, or with a key that has the scope <code>operator</code>:
    <code>npm run keys -- create NAME --scopes operator</code>. Where the server requires no
    authentication, open it on its own machine, where <code>npm run dev</code> listens on loopback
    only.
  </p>`;
