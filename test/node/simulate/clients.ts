import { ABLE, type Attempt, type ClientWorld } from "./attempt.ts";
import { FilesClient } from "./files-client.ts";
import { ModernClient } from "./modern-client.ts";
import { PlainClient } from "./plain-client.ts";
import type { Call } from "./scene.ts";
import { SessionClient } from "./session-client.ts";

interface Begun<W> {
  world: W;
  /** Settles when all of the client's calls are over. */
  run(): Promise<void>;
  readonly attempts: Attempt[];
}

/** The name of a call's session. */
export const sessionOf = ({ client, caller }: Call): string =>
  `${client === "mute" ? "mute " : ""}session${caller === undefined ? "" : ` of caller ${caller}`}`;

/** The clients of these calls: one for each, and one for all that are made in a session of the same kind. */
export function begun<W extends ClientWorld>(
  calls: (Call & { label: string })[],
  worldOf: (name: string, caller?: number) => W,
): Begun<W>[] {
  const isInSession = ({ client }: Call) =>
    client === "session" || client === "session-tasks" || client === "mute";
  const clients = calls
    .filter((call) => !isInSession(call))
    .map(({ client: kind, label, tool, program, caller }): Begun<W> => {
      const world = worldOf(`client of ${label}`, caller);
      if (kind === "files") {
        const client = new FilesClient(world);
        return { world, attempts: client.attempts, run: () => client.run(label, program) };
      }
      const isPlain = kind === "otc" || kind === "sessionless";
      const client = isPlain
        ? new PlainClient(world, kind === "otc")
        : new ModernClient(world, kind === "tasks");
      return { world, attempts: client.attempts, run: () => client.call(label, tool, program) };
    });
  const groups = Map.groupBy(calls.filter(isInSession), sessionOf);
  const sessions = [...groups].map(([name, ofSession]): Begun<W> => {
    const [{ client, caller } = { client: "session" }] = ofSession;
    const isMute = client === "mute";
    const world = worldOf(`client of the ${name}`, caller);
    const session = new SessionClient(world, isMute ? {} : ABLE);
    return { world, attempts: session.attempts, run: () => session.run(ofSession) };
  });
  return [...clients, ...sessions];
}
