/** The commands `npm run servlets -- versions`, `rollback`, `uninstall`, `unpublish` and `installed`. */
import * as z from "zod";
import type { Build } from "../../server/features/installs/build.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { printable } from "../../server/kernel/core/text.ts";
import { Refusal } from "../bundle/refusal.ts";
import { requestJson } from "./operator.ts";
import { differences } from "./build-report.ts";
import { agreed } from "./terminal.ts";

const versionSchema = z.object({
  version: z.number(),
  hash: z.string(),
  installed: z.string(),
  by: z.string(),
});
const installedSchema = z.object({
  name: z.string(),
  current: z.nullable(z.number()),
  versions: z.array(
    versionSchema.extend({
      // The server has validated the build.
      build: z.custom<Build>((value) => isObject(value) && isObject(value["manifest"])),
    }),
  ),
});
const listSchema = z.object({
  servlets: z.array(versionSchema.extend({ name: z.string(), tools: z.number() })),
});

/** A servlet with its stored versions, newest first. */
type InstalledServlet = z.infer<typeof installedSchema>;

const pathOf = (name: string) => `servlet/${encodeURIComponent(name)}`;

/** The path for changes to a servlet. The server rejects the change if it serves another version than `current`. */
export const changePath = (name: string, current: Version | undefined) =>
  `${pathOf(name)}?seen=${current?.version ?? 0}`;

/** The versions of a servlet on this server; none if it is not installed. */
export const installedOf = (name: string, server: string): Promise<InstalledServlet> =>
  requestJson(server, pathOf(name), installedSchema);

type Version = InstalledServlet["versions"][number];

export const currentOf = (all: InstalledServlet): Version | undefined =>
  all.versions.find(({ version }) => version === all.current);

export async function installed(server: string): Promise<string> {
  const { servlets } = await requestJson(server, "servlet/", listSchema);
  if (servlets.length === 0) return `No servlet is installed on ${server}.`;
  const width = Math.max(...servlets.map(({ name }) => name.length));
  return servlets
    .map(({ name, tools, ...one }) => `${name.padEnd(width)}  ${described(one)}, tools: ${tools}`)
    .map(printable)
    .join("\n");
}

export async function versions(name: string, server: string): Promise<string> {
  const { current, versions: kept } = await demandInstalled(name, server);
  return kept
    .map((one) => `${one.version === current ? "→" : " "} ${described(one)}`)
    .map(printable)
    .join("\n");
}

const described = ({ version, hash, installed: at, by }: z.infer<typeof versionSchema>) =>
  `version ${version}, ${hash.slice(0, 12)}, installed ${at} by ${by}`;

/** Serves version `to` again; by default the version before the current one. */
export async function rollback(
  name: string,
  to: string | undefined,
  { server, yes }: { server: string; yes: boolean },
): Promise<string> {
  const all = await demandInstalled(name, server);
  const current = currentOf(all);
  const target = all.versions.find(({ version }) =>
    to === undefined ? version < (current?.version ?? Infinity) : String(version) === to,
  );
  if (target === undefined) {
    const kept = all.versions.map(({ version }) => version).join(", ");
    throw new Refusal(
      to === undefined
        ? `${name} has no version before ${current?.version}.`
        : `${name} has no version ${to}. Versions that are kept: ${kept}.`,
    );
  }
  const { version } = target;
  if (version === current?.version) return `${name} is served as version ${version} already.`;
  if (current !== undefined) {
    console.log(`Version ${version} of ${printable(name)}, compared with ${current.version}:`);
    console.log(differences(current.build, target.build));
  }
  if (!(await agreed(`Serve version ${version} of ${name} on ${server}?`, yes))) {
    return "Nothing was changed.";
  }
  await requestJson(server, changePath(name, current), z.object({}), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ rollback: version }),
  });
  return `${name} is served as version ${version} everywhere within five seconds.`;
}

/** Removes a servlet with all its versions. */
export async function uninstall(
  name: string,
  { server, yes }: { server: string; yes: boolean },
): Promise<string> {
  const all = await demandInstalled(name, server);
  const { versions: kept } = all;
  console.log(kept.map(described).map(printable).join("\n"));
  if (!(await agreed(`Remove ${name} and these versions from ${server}?`, yes))) {
    return "Nothing was changed.";
  }
  const path = changePath(name, currentOf(all));
  await requestJson(server, path, z.object({}), { method: "DELETE" });
  return `${name} is uninstalled, and no longer served within five seconds.`;
}

/** Withdraws the published build of a servlet: agents can no longer install it. */
export async function unpublish(name: string, server: string): Promise<string> {
  const path = `build/${encodeURIComponent(name)}`;
  await requestJson(server, path, z.object({}), { method: "DELETE" });
  return `${name} is no longer published on ${server}.`;
}

async function demandInstalled(name: string, server: string): Promise<InstalledServlet> {
  const all = await installedOf(name, server);
  if (all.versions.length > 0) return all;
  throw new Refusal(
    `No servlet ${name} is installed on ${server}. For the names: npm run servlets -- installed --to ${server}`,
  );
}
