import type { Attempt, ClientWorld } from "./attempt.ts";
import { ModernClient } from "./modern-client.ts";
import type { Call } from "./scene.ts";
import { SessionClient } from "./session-client.ts";

interface Begun<W> {
  world: W;
  /** Settles when all of the client's calls are over. */
  run(): Promise<void>;
  readonly attempts: Attempt[];
}

/** The clients of these calls: one for each, and one for all that are made in a session. */
export function begun<W extends ClientWorld>(
  calls: (Call & { label: string })[],
  worldOf: (name: string) => W,
): Begun<W>[] {
  const clients = calls
    .filter(({ client }) => client !== "session")
    .map(({ client, label, tool, program }): Begun<W> => {
      const world = worldOf(`client of ${label}`);
      const modern = new ModernClient(world, client === "tasks");
      return { world, attempts: modern.attempts, run: () => modern.call(label, tool, program) };
    });
  const inSession = calls.filter(({ client }) => client === "session");
  if (inSession.length === 0) return clients;
  const world = worldOf("client of the session");
  const session = new SessionClient(world);
  return [...clients, { world, attempts: session.attempts, run: () => session.run(inSession) }];
}
