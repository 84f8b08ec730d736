import { DurableObject } from "cloudflare:workers";
import { Fault, report } from "../errors.ts";
import { filesIn } from "../files/archive.ts";
import { FileStore } from "../files/file-store.ts";
import type { Files } from "../files/files.ts";
import { parseMounts } from "../files/mounts.ts";
import { sealingWith } from "../files/sealing.ts";
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
    #stored: Promise<Stored> | undefined;
    readonly #turns = new Turns(limits.queuedCalls);
    readonly #running = new Map<string, AbortController>();

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      this.#share = share(env);
    }

    /** What is stored, under the key of this scope. */
    #open(): Promise<Stored> {
      const { sql } = this.ctx.storage;
      this.#stored ??= this.#share.sealer.scopeKey(String(this.ctx.id)).then(
        (key) => {
          const sealing = sealingWith(key);
          return { rows: new StateRows(sql, sealing), files: new FileStore(sql, sealing) };
        },
        (error: unknown) => {
          this.#stored = undefined;
          throw error;
        },
      );
      return this.#stored;
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
        const told: Promise<unknown>[] = [];
        try {
          return await this.#call(servlet, run, hooks, { signal: stop.signal, told });
        } finally {
          this.#running.delete(run.id);
          this.#turns.release();
          // Its caller hears all of them before it hears how the call has ended.
          await Promise.all(told);
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
      { signal, told }: { signal: AbortSignal; told: Promise<unknown>[] },
    ): Promise<PlainEnding> {
      const { deployment } = this.#share;
      const stored = await this.#open();
      const before = recorded && stored.rows.ending(recorded);
      if (before !== undefined) return before;
      const files = this.#filesFor(servlet, stored);
      const setup = {
        ...setupOf(servlet, deployment, {
          ...run.call,
          signal: () => signal,
          notify: (notification) => void told.push(hooks.notify(notification).catch(report)),
          ask: async (asks) => unsettled(await hooks.ask(asks)),
          ...(there.gate && { gate: async (ms: number) => unsettled(await hooks.gate(ms, Date.now())) }),
          ...(there.sending && { sending: async () => unsettled(await hooks.sending()) }),
        }),
        recorded,
        seed,
        keeper: keeperOf(hooks, there),
        ...(files && { files }),
      };
      const program = programOf(servlet, deployment);
      const { rows } = stored;
      const source = this.#source(servlet, { rows, files, isDurable: there.repeats });
      return plainEnding(await callExport(program, run.export, run.input, setup, source));
    }

    /** The folders of a servlet for one call; undefined if it has none. */
    #filesFor({ name, hash, manifest, files = {} }: BundledServlet, stored: Stored) {
      const { rows } = stored;
      if (rows.hash !== undefined && rows.hash !== hash) {
        console.warn(`[${name}] Its build has changed: its memory begins anew.`);
        rows.clear();
        takeKept(this);
      }
      const mounts = parseMounts(manifest.allowed_paths ?? []);
      if (mounts.length === 0) return undefined;
      const initial = Object.fromEntries(
        Object.entries(files).map(([host, { digest, archive }]) => [
          host,
          { digest, files: () => filesIn(archive) },
        ]),
      );
      return stored.files.begin(mounts, {
        now: BigInt(Date.now()) * 1_000_000n,
        initial,
        continues: rows.hash !== undefined,
      });
    }

    /** Deletes what was kept for a session. */
    override async alarm(): Promise<void> {
      takeKept(this);
      await this.ctx.storage.deleteAll();
      this.#stored = undefined;
    }

    /** A new instance in the stored state. */
    async #load(program: Program, guest: Guest, rows: StateRows): Promise<Kept> {
      const instance = await makeInstance(program, guest);
      try {
        return { instance, vars: rows.load(instance) };
      } catch (error) {
        if (error instanceof CorruptState) throw new Fault("unavailable", CORRUPT);
        throw error;
      }
    }

    /** Takes instances in the stored state, and stores the state that they are given back in. */
    #source(
      { hash, manifest }: BundledServlet,
      { rows, files, isDurable }: { rows: StateRows; files: Files | undefined; isDurable: boolean },
    ): Source {
      return {
        take: async (program, guest) => {
          // Its ending is found by its seed, which must be known before.
          if (isDurable) await guest.journal.begin();
          const { instance, vars } = takeKept(this) ?? (await this.#load(program, guest, rows));
          instance.guest = guest;
          for (const [variable, value] of vars) guest.setVariable(variable, value);
          return instance;
        },
        giveBack: (_program, instance, ending) => {
          // What a call that failed has changed is dropped with its instance.
          if (ending === undefined || instance.guest === undefined) {
            files?.drop();
            return;
          }
          const { vars, journal } = instance.guest;
          this.ctx.storage.transactionSync(() => {
            files?.commit({ keepsOpen: true });
            rows.save(instance, vars, hash);
            if (isDurable) rows.saveEnding(journal.recorded(), plainEnding(ending));
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

/** What is stored for a scope. */
interface Stored {
  rows: StateRows;
  files: FileStore;
}

const CORRUPT =
  "The stored state of this servlet can no longer be read: the key that sealed it is gone, or it was altered. A changed build of the servlet begins anew: ask its operator for one.";
