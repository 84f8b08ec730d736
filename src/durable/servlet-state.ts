import { DurableObject } from "cloudflare:workers";
import { Fault, report } from "../errors.ts";
import { sealingWith } from "../files/sealing.ts";
import { limits } from "../limits.ts";
import type { BundledServlet, Bundle } from "../servlets/bundle.ts";
import { programOf, setupOf } from "../servlets/connect.ts";
import { plainEnding, type PlainEnding } from "./plain-ending.ts";
import {
  keeperOf,
  settled,
  unsettled,
  type RemoteHooks,
  type Settled,
  type StatefulRun,
  type StateObject,
} from "./remote-hooks.ts";
import { ScopeState } from "./scope-state.ts";
import type { Share } from "./shared.ts";
import { Turns } from "./turns.ts";

/**
 * The state of one servlet in one scope: its memory, globals and variables as its last successful call left
 * them. Guests run here, one at a time, beside the SQLite database that has it.
 */
export function servletStateObject(bundle: Bundle, share: Share) {
  return class ServletState extends DurableObject implements StateObject {
    readonly #share: ReturnType<Share>;
    #state: Promise<ScopeState> | undefined;
    readonly #turns = new Turns(limits.queuedCalls);
    readonly #running = new Map<string, AbortController>();

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      this.#share = share(env);
    }

    /** What is stored, under the key of this scope. */
    #open(): Promise<ScopeState> {
      this.#state ??= this.#share.sealer.scopeKey(String(this.ctx.id)).then(
        (key) => new ScopeState(this.ctx.storage, sealingWith(key)),
        (error: unknown) => {
          this.#state = undefined;
          throw error;
        },
      );
      return this.#state;
    }

    /** Runs an export, and stores what it has changed before its ending is returned. */
    async run(run: StatefulRun, hooks: RemoteHooks): Promise<Settled<PlainEnding>> {
      return settled(async () => {
        const servlet = bundle.servlets.find(({ name }) => name === run.servlet);
        if (servlet === undefined)
          throw new Fault("unavailable", `Unknown servlet: ${run.servlet}`);
        const stop = new AbortController();
        await this.#turns.take();
        this.#running.set(run.id, stop);
        try {
          return await this.#call(servlet, run, hooks, stop.signal);
        } finally {
          this.#running.delete(run.id);
          this.#turns.release();
        }
      });
    }

    cancel(id: string): void {
      this.#running.get(id)?.abort();
    }

    async #call(
      servlet: BundledServlet,
      { there, recorded, seed, ...run }: StatefulRun,
      hooks: RemoteHooks,
      signal: AbortSignal,
    ): Promise<PlainEnding> {
      const { deployment } = this.#share;
      const state = await this.#open();
      const before = recorded && state.ending(recorded);
      if (before !== undefined) return before;
      const setup = {
        ...setupOf(servlet, deployment, {
          ...run.call,
          signal: () => signal,
          notify: (notification) => void hooks.notify(notification).catch(report),
          ask: async (asks) => unsettled(await hooks.ask(asks)),
          ...(there.gate && { gate: async (ms: number) => unsettled(await hooks.gate(ms)) }),
          ...(there.sending && { sending: async () => unsettled(await hooks.sending()) }),
        }),
        recorded,
        seed,
        keeper: keeperOf(hooks, there),
      };
      const ending = await state.call(servlet, {
        export: run.export,
        input: run.input,
        program: programOf(servlet, deployment),
        setup,
        isDurable: there.repeats,
        // Nobody can come back to the state of a session that is over.
        ...(servlet.manifest.state === "session" && {
          onCommit: () => void this.ctx.storage.setAlarm(Date.now() + limits.sessionStateMs),
        }),
      });
      return plainEnding(ending);
    }

    /** Deletes what was kept for a session. */
    override async alarm(): Promise<void> {
      (await this.#state)?.dropKept();
      await this.ctx.storage.deleteAll();
      this.#state = undefined;
    }
  };
}
