import { DurableObject } from "cloudflare:workers";
import { Fault, report } from "../errors.ts";
import { limits } from "../limits.ts";
import type { BundledServlet, Bundle } from "../servlets/bundle.ts";
import { programOf, setupOf } from "../servlets/connect.ts";
import { Turns } from "./turns.ts";
import { callExport, type Program, type Source } from "../wasm/call.ts";
import type { Guest } from "../wasm/guest.ts";
import { makeInstance } from "../wasm/pool.ts";
import {
  keeperOf,
  plainEnding,
  settled,
  unsettled,
  type PlainEnding,
  type RemoteHooks,
  type Settled,
  type StatefulRun,
  type StateObject,
} from "./remote-hooks.ts";
import { keepInstance, takeKept, type Kept } from "./kept-instances.ts";
import type { Share } from "./shared.ts";
import { CorruptState, StateRows } from "./state-rows.ts";

/**
 * The state of one servlet in one scope: its memory, globals and variables as its last successful call left
 * them. Guests run here, one at a time, beside the SQLite database that has it.
 */
export function servletStateObject(bundle: Bundle, share: Share) {
  return class ServletState extends DurableObject implements StateObject {
    readonly #share: ReturnType<Share>;
    readonly #rows: StateRows;
    readonly #turns = new Turns(limits.queuedCalls);
    readonly #running = new Map<string, AbortController>();

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      this.#share = share(env);
      this.#rows = new StateRows(state.storage.sql, this.#share.sealer);
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
          return plainEnding(await this.#call(servlet, run, hooks, stop.signal));
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
    ) {
      const { deployment } = this.#share;
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
      const program = programOf(servlet, deployment);
      return callExport(program, run.export, run.input, setup, this.#source(servlet));
    }

    override async alarm(): Promise<void> {
      takeKept(this);
      await this.ctx.storage.deleteAll();
      this.#rows.create();
    }

    /** A new instance in the stored state. */
    async #load(program: Program, guest: Guest): Promise<Kept> {
      const instance = await makeInstance(program, guest);
      try {
        return { instance, vars: await this.#rows.load(instance) };
      } catch (error) {
        if (error instanceof CorruptState) throw new Fault("unavailable", CORRUPT);
        throw error;
      }
    }

    /** Takes instances in the stored state, and stores the state that they are given back in. */
    #source({ name, hash, manifest }: BundledServlet): Source {
      return {
        take: async (program, guest) => {
          if (this.#rows.hash !== undefined && this.#rows.hash !== hash) {
            console.warn(`[${name}] Its build has changed: its memory begins anew.`);
            this.#rows.clear();
            takeKept(this);
          }
          const { instance, vars } = takeKept(this) ?? (await this.#load(program, guest));
          instance.guest = guest;
          for (const [variable, value] of vars) guest.setVariable(variable, value);
          return instance;
        },
        giveBack: async (_program, instance, hasReturned) => {
          // What a call that failed has changed is dropped with its instance.
          if (!hasReturned || instance.guest === undefined) return;
          const { vars } = instance.guest;
          const write = await this.#rows.prepare(instance, vars, hash);
          this.ctx.storage.transactionSync(() => {
            write();
            // Nobody can come back to the state of a session that is over.
            if (manifest.state === "session") {
              void this.ctx.storage.setAlarm(Date.now() + limits.sessionStateMs);
            }
          });
          instance.guest = undefined;
          instance.hasStarted = true;
          keepInstance(this, { instance, vars });
        },
      };
    }
  };
}

const CORRUPT =
  "The stored state of this servlet can no longer be read: the key that sealed it is gone, or it was altered. A changed build of the servlet begins anew: ask its operator for one.";
