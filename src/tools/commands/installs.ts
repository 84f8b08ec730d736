/** The commands of `npm run servlets` that change what a running server has installed. */
import { DOCS } from "../bundle/own.ts";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { Refusal, Refusals } from "../bundle/refusal.ts";
import {
  installed,
  rollback,
  uninstall,
  unpublish,
  versions,
  changePath,
  currentOf,
  installedOf,
} from "./versions.ts";
import * as z from "zod";
import { canonicalJson } from "../../server/kernel/core/digest.ts";
import { mebibytes, printable, printableLines } from "../../server/kernel/core/text.ts";
import { buildOf, type BuildFiles } from "../bundle/build-files.ts";
import { bundleAll, makeBundle, type Member } from "../bundle/bundle.ts";
import { locate } from "./examine.ts";
import type { Workspace } from "./folders.ts";
import { requestOperator, requestJson, withRetries } from "./operator.ts";
import { differences, buildReport } from "./build-report.ts";
import { agreed } from "./terminal.ts";

export const INSTALLS_USAGE = `npm run servlets -- install SERVLET   prepares a servlet, shows what it may do, and installs it on a running
                                      server: ${DOCS}/installing.md
npm run servlets -- installed         shows what is installed there
npm run servlets -- versions NAME     shows the versions of one
npm run servlets -- rollback NAME [VERSION]  serves an earlier version again, by default the one before
npm run servlets -- uninstall NAME    removes it
npm run servlets -- publish [SERVLET] sends a build, or those of all servlets, so that calls that wait can go on
                                      with it after a deploy
npm run servlets -- unpublish NAME    undoes that: agents can no longer install it
npm run servlets -- replay NAME       says how many of the calls of a servlet that wait would go on with the build
                                      of the one here; --against SERVLET: with that of another
    --to URL                          the server; http://localhost:8787 by default. EDGE_SERVLETS_KEY has a key with
                                      the scope operator, where it requires one
    --yes                             agrees without being asked`;

/** Runs one of the commands; returns the text to print. Throws a `Refusal`. */
export async function installs(
  command: string,
  args: string[],
  options: InstallOptions,
): Promise<string> {
  const { positionals, values } = argumentsIn(
    { args, allowPositionals: true, options: OPTIONS },
    INSTALLS_USAGE,
  );
  const [name, version] = positionals;
  const server = values.to;
  const asking = { server, yes: values.yes };
  const [least, most] = COUNTS[command] ?? [1, 1];
  if (positionals.length < least) throw misused("Give a servlet's name.", INSTALLS_USAGE);
  const surplus = positionals[most];
  if (surplus !== undefined) throw misused(`Unexpected argument: ${surplus}.`, INSTALLS_USAGE);
  switch (command) {
    case "installed":
      return installed(server);
    case "publish":
      return publish(name, server, options);
    case "install":
      return install(name!, asking, options);
    case "replay":
      return replay(name!, { against: values.against ?? name!, server }, options);
    case "versions":
      return versions(name!, server);
    case "rollback":
      return rollback(name!, version, asking);
    case "unpublish":
      return unpublish(name!, server);
    case "uninstall":
      return uninstall(name!, asking);
    default:
      throw new Refusal(INSTALLS_USAGE);
  }
}

const OPTIONS = {
  to: { type: "string", default: "http://localhost:8787" },
  against: { type: "string" },
  yes: { type: "boolean", default: false },
} as const;

/** Minimum and maximum number of positional arguments; other commands take one. */
const COUNTS: Readonly<Record<string, [least: number, most: number]>> = {
  installed: [0, 0],
  publish: [0, 1],
  rollback: [1, 2],
};

interface InstallOptions extends Workspace {
  /** Pause before the first retry after a lost connection, in ms; it doubles for each further retry. */
  pauseMs?: number;
}

/** Installs one servlet, after the user has seen and accepted its permissions. */
export async function install(
  what: string,
  { server, yes }: { server: string; yes: boolean },
  options: InstallOptions,
): Promise<string> {
  const found = await locate(what, options);
  const current = currentOf(await installedOf(found.name, server));
  const [member] = await bundleAll([found], options);
  const files = buildOf(member!);
  const { build } = files;
  const { name } = build;
  warn([member!]);
  console.log(buildReport(build));
  const isKnown = current !== undefined && canonicalJson(current.build) === canonicalJson(build);
  if (current !== undefined && !isKnown) {
    console.log(`\nCompared with version ${current.version}, which is installed:`);
    console.log(differences(current.build, build));
  }
  // A build that is installed already is sent again without a question: that restores parts lost from the bucket.
  if (!isKnown && !(await agreed(`Install ${name} on ${server}?`, yes))) {
    return `${name} was not installed.`;
  }
  const path = changePath(name, current);
  const to = { server, path, schema: servedSchema };
  const { version, warnings = [] } = await send(files, to, options);
  for (const one of warnings) console.error(printableLines(`warning: ${one}`));
  return isKnown
    ? `${name} is installed already, as version ${version}.`
    : `${name} is installed as version ${version}, and served everywhere within five seconds.`;
}

/** Keeps builds on the server for waiting calls, without serving them. */
async function publish(
  what: string | undefined,
  server: string,
  options: InstallOptions,
): Promise<string> {
  const members =
    what === undefined
      ? await makeBundle(options)
      : await bundleAll([await locate(what, options)], options);
  warn(members);
  const refusals = new Refusals();
  for (const files of members.map(buildOf)) {
    const { name } = files.build;
    const to = { server, path: `build/${encodeURIComponent(name)}`, schema: keptSchema };
    await refusals.collect(async () => {
      const { hash } = await send(files, to, options);
      console.log(printable(`${name} is published: ${hash}`));
    });
  }
  refusals.throwAll();
  return `${server} keeps what is published for calls that wait.`;
}

/** Replays the waiting calls of a servlet with the build of the servlet `against`. */
async function replay(
  name: string,
  { against, server }: { against: string; server: string },
  options: InstallOptions,
): Promise<string> {
  const found = { ...(await locate(against, options)), name };
  const [member] = await bundleAll([found], options);
  const path = `replay/${encodeURIComponent(name)}`;
  const to = { method: "POST", server, path, schema: replayedSchema };
  const { waiting, goOn, reasons } = await send(buildOf(member!), to, options);
  return [
    `Calls of ${name} that wait: ${waiting}. Of these, ${goOn} would go on with this build.`,
    ...reasons.map((one) => `  ${printable(one)}`),
  ].join("\n");
}

function warn(members: readonly Member[]): void {
  for (const { found, warnings } of members) {
    for (const one of warnings) console.error(printableLines(`warning: ${found.name}: ${one}`));
  }
}

const missingSchema = z.object({ missing: z.array(z.string()).min(1) });
const servedSchema = z.object({ version: z.number(), warnings: z.optional(z.array(z.string())) });
const replayedSchema = z.object({
  waiting: z.number(),
  goOn: z.number(),
  reasons: z.array(z.string()),
});
const keptSchema = z.object({ hash: z.string(), missing: z.array(z.never()) });

interface Target<T> {
  method?: string;
  server: string;
  path: string;
  /** Schema of the response when no part is missing. */
  schema: z.ZodType<T>;
}

/** Sends a build, then the parts that the server lacks, then the build again. */
async function send<T>(
  { build, code }: BuildFiles,
  { method = "PUT", server, path, schema }: Target<T>,
  { progress, pauseMs }: Pick<InstallOptions, "progress" | "pauseMs">,
): Promise<T> {
  const { name } = build;
  const tell = (text: string) => progress(printable(`${name}: ${text}`));
  const retries = { progress: tell, pauseMs };
  const answers = z.union([schema, missingSchema]);
  const put = () => {
    const headers = { "content-type": "application/json" };
    const init = { method, body: JSON.stringify(build), headers };
    return withRetries(() => requestJson(server, path, answers, init), retries);
  };
  const missingIn = (answer: T | z.infer<typeof missingSchema>) =>
    missingSchema.safeParse(answer).data?.missing;
  const first = await put();
  const missing = missingIn(first);
  if (missing === undefined) return first as T;
  for (const [at, digest] of missing.entries()) {
    const part = code.get(digest);
    if (part === undefined)
      throw new Refusal(
        `The server asks for a part that is not in the build of ${name}. Check that it runs this version of the project.`,
      );
    tell(`sending part ${at + 1} of ${missing.length}, ${mebibytes(part.bytes.length)}`);
    // A Blob is sent in chunks, so that a slow connection does not count as idle.
    const body = new Blob([part.bytes]);
    await withRetries(
      () => requestOperator(server, `part/${digest}`, { method: "PUT", body }),
      retries,
    );
  }
  const second = await put();
  if (missingIn(second) === undefined) return second as T;
  throw new Refusal(`The server has lost parts of ${name} that were sent. Try again.`);
}
