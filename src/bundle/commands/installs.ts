/** The commands of `npm run servlets` that change what a running server has installed. */
import { DOCS } from "../own.ts";
import { argumentsIn } from "../arguments.ts";
import { Refusal } from "../refusal.ts";
import { install, publish, replay, type InstallOptions } from "./install.ts";
import { installed, rollback, uninstall, unpublish, versions } from "./versions.ts";

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

/** Does one of the commands; returns what is printed in the end. Throws a `Refusal`. */
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
  if (positionals.length < least || positionals.length > most) throw new Refusal(INSTALLS_USAGE);
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

/** The least and the most positional arguments; one where it is not said. */
const COUNTS: Readonly<Record<string, [least: number, most: number]>> = {
  installed: [0, 0],
  publish: [0, 1],
  rollback: [1, 2],
};
