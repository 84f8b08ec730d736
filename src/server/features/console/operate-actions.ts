/** The actions of the buttons on the operators' pages. */
import { endpointPath } from "../../kernel/auth/metadata.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { scopesInWords } from "../../kernel/core/key-name.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import type { Installer } from "../installs/installer.ts";
import { installerOf } from "../../kernel/http/operations.ts";
import { endpointOf } from "./connect.ts";
import { confirmPage, keyPage } from "./operate.ts";
import {
  allKeys,
  counted,
  keyOf,
  newKey,
  recordsIn,
  restorable,
  unmatchedScopes,
  type Operated,
} from "./operator-keys.ts";
import { PAGES } from "../people/paths.ts";
import { count } from "./units.ts";
import { seeOther, type View, type Visit } from "../people/view.ts";

/** A pressed button, and the operator who pressed it. */
interface ButtonPress {
  server: Operated;
  visit: Visit;
  form: URLSearchParams;
  /** A field of the form; empty if it is not there. */
  field(name: string): string;
  /** The field `name`: of a servlet, or of a key. */
  name: string;
  /** The operator. */
  by: string;
}

/** The confirmation before an action. */
interface Question {
  title: string;
  lines: string[];
  /** Label of the button; the title by default. */
  label?: string;
  /** Sent with the button. */
  fields: Record<string, string>;
}

interface Action {
  /** What is asked first, by a button whose `do` is `ask-` and the action's name. */
  ask?(pressed: ButtonPress): Promise<Question>;
  /** Acts. Returns a sentence for the record, undefined if nothing had to be done, or the page to show. */
  act(pressed: ButtonPress): Promise<string | undefined | View>;
  /** The page's message afterwards. */
  done?: string;
  /** True if it deletes or revokes. */
  isDangerous?: true;
}

const actions: Readonly<Record<string, Action>> = {
  install: {
    done: "The servlet is installed. All isolates serve it within seconds.",
    async ask({ server, name, field }) {
      const installer = installerOf(server);
      const digest = field("digest");
      const build = await publishedBuild(installer, name, digest);
      const consequences = await installer.consequences(build);
      const lines = ["All callers of this server can use it.", ...consequences];
      return { title: `Install ${name}`, lines, fields: { name, digest } };
    },
    async act({ server, name, field, by }) {
      const installer = installerOf(server);
      const build = await publishedBuild(installer, name, field("digest"));
      const { version, isNew } = await installer.install(build, by);
      return isNew ? `Installed ${name}, version ${version}.` : undefined;
    },
  },
  rollback: {
    done: "The older version is installed. All isolates serve it within seconds.",
    async ask({ server, name, field }) {
      const [version, seen] = [field("version"), field("seen")];
      const { versions } = await installerOf(server).installs().versions(name);
      const older = versions.find((one) => String(one.version) === version);
      if (older === undefined)
        throw new Fault("conflict", "This version is no longer there. Reload the page.");
      const lines = [
        `All callers get version ${version}, which ${older.by} installed. Its build is ${older.hash.slice(0, 12)}.`,
        await waitingLine(server, name),
      ];
      return {
        title: `Roll ${name} back to version ${version}`,
        lines,
        label: `Roll ${name} back to ${version}`,
        fields: { name, version, seen },
      };
    },
    async act({ server, name, field }) {
      const [version, seen] = [Number(field("version")), Number(field("seen"))];
      unsettled(await installerOf(server).installs().rollBack(name, version, seen));
      return `Rolled ${name} back to version ${version}.`;
    },
  },
  uninstall: {
    done: "The servlet is uninstalled.",
    isDangerous: true,
    async ask({ server, name }) {
      const { current } = await installerOf(server).installs().versions(name);
      const lines = [
        "Its tools and all its versions are removed for all callers.",
        await waitingLine(server, name),
        "What it has stored for callers stays until you delete it: npm run servlets -- state delete.",
      ];
      return { title: `Uninstall ${name}`, lines, fields: { name, seen: String(current ?? 0) } };
    },
    async act({ server, name, field }) {
      const installs = installerOf(server).installs();
      unsettled(await installs.uninstall(name, Number(field("seen"))));
      return `Uninstalled ${name}.`;
    },
  },
  revoke: {
    done: "The key is revoked. It is refused everywhere within 30 seconds.",
    isDangerous: true,
    async ask({ server, field, by }) {
      const key = field("key");
      const { made, name } = await keyOf(key, server);
      const left = (await allKeys(server))
        .filter((one) => one.made?.by === name && one.revoked === null && one.key !== key)
        .map((one) => one.name);
      const isOwn = server.authenticator.keys.named(by)?.hash.toHex() === key;
      const lines = [
        "The key is refused everywhere within 30 seconds.",
        ...(left.length > 0
          ? [
              `Keys that ${name} made stay valid: ${left.join(", ")}. If somebody else had this key, revoke them, too.`,
            ]
          : []),
        `Calls that were made with it continue${await waitingNow(server, "caller", name)}. Until you restore the key, nobody can answer their questions or get their results with it.`,
      ];
      if (made === undefined)
        lines.push(`Take it out of the configuration, too: npm run keys -- revoke ${name}.`);
      if (isOwn) lines.push("You are signed in with this key, and will be signed out.");
      const title = `Revoke the key ${name}`;
      return { title, lines, label: `Revoke ${name}`, fields: { name, key } };
    },
    async act({ server, field, by }) {
      const { name } = await keyOf(field("key"), server);
      await recordsIn(server).revoke(field("key"), by);
      return `Revoked the key ${name}.`;
    },
  },
  restore: {
    done: "The key is valid again.",
    async ask({ server, visit, field }) {
      const key = field("key");
      const { scopes, name } = await restorable(key, visit.person.principal, server);
      const lines = [
        `The key is valid again within seconds, and may call: ${scopesInWords(scopes)}.`,
        "Do not restore a key that somebody else may have: make a new one.",
      ];
      const title = `Restore the key ${name}`;
      return { title, lines, label: `Restore ${name}`, fields: { name, key } };
    },
    async act({ server, visit, field }) {
      const { name } = await restorable(field("key"), visit.person.principal, server);
      await recordsIn(server).restore(field("key"));
      return `Restored the key ${name}.`;
    },
  },
  remove: {
    done: "The key is removed.",
    isDangerous: true,
    async ask({ server, field }) {
      const key = field("key");
      const { name } = await keyOf(key, server);
      const lines = [
        "The key stays refused and leaves the list. It cannot be restored.",
        `Calls that were made with it continue${await waitingNow(server, "caller", name)}, until they end or their stored data is deleted.`,
        `Everything that is kept for ${name} stays, and a new key of this name would have it.`,
      ];
      const title = `Remove the key ${name}`;
      return { title, lines, label: `Remove ${name}`, fields: { name, key } };
    },
    async act({ server, field, by }) {
      const { name } = await keyOf(field("key"), server);
      await recordsIn(server).remove(field("key"), by);
      return `Removed the key ${name}.`;
    },
  },
  make: {
    async act({ server, visit, form, by }) {
      const { secret, made } = await newKey(form, visit.person.principal, server);
      if (server.authenticator.keys.named(made.name) !== undefined)
        throw new Fault("conflict", `There is a key ${made.name} already. Take another name.`, {
          data: { field: "name" },
        });
      unsettled(await recordsIn(server).make(made));
      const may = scopesInWords(made.scopes ?? undefined);
      await server.recordAct(by, "page", `Made the key ${made.name}, which may call ${may}.`);
      const endpoint = endpointOf(server, new URL(endpointPath(undefined), visit.request.url).href);
      const unfitting = (await unmatchedScopes(made.scopes ?? [], server)) ?? [];
      // Only this page shows the secret.
      const body = keyPage(made.name, { ...endpoint, key: secret }, unfitting);
      return { status: 200, body };
    },
  },
};

/** What the page says after an action, by the parameter `done` of its URL, whose own text is never shown. */
export const doneText = (done: string): string | undefined =>
  Object.hasOwn(actions, done) ? actions[done]!.done : undefined;

/** Performs a button's action, or asks for confirmation; undefined for an unknown button. */
export async function act(
  form: URLSearchParams,
  { server, visit, token }: { server: Operated; visit: Visit; token: string },
): Promise<View | undefined> {
  const field = (name: string) => form.get(name) ?? "";
  const [, asks, what = ""] = /^(ask-)?(.*)$/.exec(field("do")) ?? [];
  const action = Object.hasOwn(actions, what) ? actions[what] : undefined;
  const by = visit.person.principal.name;
  const pressed = { server, visit, form, field, name: field("name"), by };
  if (asks === undefined) {
    if (action === undefined) return undefined;
    const done = await action.act(pressed);
    if (typeof done === "object") return done;
    if (done !== undefined) await server.recordAct(by, "page", done);
    return seeOther(`${PAGES.Operate}?done=${what}`);
  }
  if (action?.ask === undefined) return undefined;
  const { title, lines, label = title, fields } = await action.ask(pressed);
  const isDanger = action.isDangerous === true;
  const question = { title: `${title}?`, lines, label, isDanger };
  return { status: 200, body: confirmPage(token, { ...question, of: { do: what, ...fields } }) };
}

/** The published build of this name, if it is still the one that the operator saw. Throws `conflict`. */
async function publishedBuild(installer: Installer, name: string, digest: string) {
  const published = await installer.published(name);
  if (published?.digest === digest) return published.build;
  throw new Fault("conflict", `The published build of ${name} has changed since. Reload the page.`);
}

/** `; 2 of them wait now`, if any are known to wait. */
async function waitingNow({ usage }: Operated, by: "servlet" | "caller", name: string) {
  const waiting = (await counted(usage?.().waitingOf(by, name))) ?? 0;
  return waiting === 0 ? "" : `; ${count(waiting)} of them ${waiting === 1 ? "waits" : "wait"} now`;
}

/** How a change of a servlet affects its calls. */
const waitingLine = async (of: Operated, name: string) =>
  `Calls that wait end on the build that they began with${await waitingNow(of, "servlet", name)}. If the servlet keeps state, they end with an error that says to call again.`;
