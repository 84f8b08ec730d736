import { DurableObject } from "cloudflare:workers";
import { Fault, report } from "../errors.ts";
import { FileStore } from "../files/file-store.ts";
import { sealingWith } from "../files/sealing.ts";
import { limits } from "../limits.ts";
import type { Notification } from "../model.ts";
import type { BundledServlet, Bundle } from "../servlets/bundle.ts";
import { connected, partsOf, programOf, setupOf } from "../servlets/connect.ts";
import type { Viewer } from "../servlets/deployment.ts";
import { listAll, nobodysCall } from "../servlets/servlet.ts";
import { mebibytes } from "../text.ts";
import { callExport, type Ending, type Program, type Source } from "../wasm/call.ts";
import type { Guest } from "../wasm/guest.ts";
import { makeInstance } from "../wasm/pool.ts";
import {
  changeOf,
  contextOf,
  endingOf,
  plainEnding,
  settled,
  type PlainEnding,
  type RemoteHooks,
  type Settled,
  type StatefulRun,
  type StateObject,
} from "./remote-hooks.ts";
import { keepInstance, takeKept, type Kept } from "./kept-instances.ts";
import { Room } from "./room.ts";
import type { Share } from "./shared.ts";
import { filesFor } from "./state-files.ts";
import { buildOf, type Context, type Run, type Stateful, type Stored } from "./stateful-call.ts";
import { CorruptState, StateRows } from "./state-rows.ts";
import { Turns } from "./turns.ts";

/**
 * The state of one servlet in one scope: its memory, globals and variables as its last successful call left
 * them. Guests run here, one at a time, beside the SQLite database that has it.
 */
export function servletStateObject(bundle: Bundle, share: Share) {
  return class ServletState extends DurableObject implements StateObject {
    readonly #share: ReturnType<Share>;
    #stored: Promise<Stored> | undefined;
    /** What the servlet has listed in this state. */
    #lists: { text: string; until: number } | undefined;
    readonly #room: Room;
    readonly #turns = new Turns(limits.queuedCalls);
    readonly #running = new Map<string, AbortController>();

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      this.#share = share(env);
      this.#room = new Room(state, env);
    }

    /** Opens the scope's storage with the key of the scope. */
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
    run(run: StatefulRun, hooks: RemoteHooks): Promise<Settled<PlainEnding>> {
      return settled(async () => {
        const servlet = servletOf(bundle, run.servlet);
        const stop = new AbortController();
        this.#running.set(run.id, stop);
        try {
          const { there } = run;
          const call = { ...contextOf(hooks, there), signal: () => stop.signal };
          return await this.#inTurn(stop.signal, () =>
            this.#call(servlet, { ...run, isDurable: there.repeats }, call),
          );
        } finally {
          this.#running.delete(run.id);
        }
      });
    }

    /** Stops a call that runs, or waits for its turn. */
    cancel(id: string): void {
      this.#running.get(id)?.abort();
    }

    /** The lists of the servlet in this state, which it says when it changes; else they are asked for anew after a while. */
    lists(name: string, viewer: Viewer): Promise<Settled<string>> {
      return settled(async () => {
        const known = () =>
          this.#lists && this.#lists.until > Date.now() ? this.#lists.text : undefined;
        const signal = nobodysCall.signal();
        return known() ?? this.#inTurn(signal, async () => known() ?? this.#list(name, viewer));
      });
    }

    async #list(name: string, viewer: Viewer): Promise<string> {
      const { deployment } = this.#share;
      const servlet = connected(servletOf(bundle, name), {
        ...deployment,
        runStateful: async (bundled, run, call) =>
          endingOf(await this.#call(bundled, { ...run, call: partsOf(call) }, call)),
      });
      const text = JSON.stringify(await listAll(servlet, { ...nobodysCall, ...viewer }));
      this.#lists = { text, until: Date.now() + limits.dynamicListMs };
      return text;
    }

    async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      await this.#turns.take(signal);
      try {
        return await work();
      } finally {
        this.#turns.release();
      }
    }

    async #call(servlet: BundledServlet, run: Run, call: Context): Promise<PlainEnding> {
      const { deployment } = this.#share;
      const { recorded, seed } = run;
      const stored = await this.#open();
      const before = recorded && stored.rows.ending(recorded);
      if (before !== undefined) return before;
      const { rows } = stored;
      const { hash } = rows;
      if (servlet.manifest.state === "session" && hash === undefined) await this.#setAlarm();
      const build = buildOf(servlet);
      if (hash !== undefined && hash !== build) {
        console.warn(`[${servlet.name}] Its build has changed: its memory begins anew.`);
        takeKept(this);
      }
      const files = filesFor(servlet, stored.files, hash === build);
      const stateful: Stateful = { servlet, rows, files, run, changes: [], signal: call.signal() };
      const setup = {
        ...setupOf(servlet, deployment, { ...call, ...run.call }),
        changed: (notice: Notification) => void stateful.changes.push(changeOf(notice)),
        recorded,
        seed,
        keeper: call.keeper,
        ...(files && { files }),
      };
      const program = programOf(servlet, deployment);
      const ending = await callExport(
        program,
        run.export,
        run.input,
        setup,
        this.#source(stateful),
      );
      return plainEnding(ending, stateful.isCommitted ? stateful.changes : []);
    }

    /** Nobody can come back to the state of a session that is over. */
    #setAlarm(): Promise<void> {
      return this.ctx.storage.setAlarm(Date.now() + limits.sessionStateMs);
    }

    /** Deletes what was kept for a session; later, if a call runs or waits. */
    override async alarm(): Promise<void> {
      const { storage } = this.ctx;
      if (!this.#turns.takeNow()) return storage.setAlarm(Date.now() + limits.waitMs);
      try {
        takeKept(this);
        this.#lists = undefined;
        this.#stored = undefined;
        await this.#room.release(() => storage.deleteAll());
      } finally {
        this.#turns.release();
      }
    }

    /** Bytes that are reserved for it among those of its caller. Gives back what it does not need. */
    async held(): Promise<number> {
      if (this.#room.bytes === 0 || !this.#turns.takeNow()) return this.#room.bytes;
      try {
        const { rows, files } = await this.#open();
        this.ctx.waitUntil(this.#room.shrink(rows.bytes + files.usage().bytes).catch(report));
        return this.#room.bytes;
      } finally {
        this.#turns.release();
      }
    }

    /** A new instance in the stored state. */
    async #load(program: Program, guest: Guest, call: Stateful): Promise<Kept> {
      const instance = await makeInstance(program, guest);
      try {
        return { instance, vars: call.rows.load(instance, buildOf(call.servlet)) };
      } catch (error) {
        if (error instanceof CorruptState) throw new Fault("unavailable", CORRUPT);
        throw error;
      }
    }

    /** Takes instances in the stored state, and stores the state that they are given back in. */
    #source(call: Stateful): Source {
      const { files, run } = call;
      return {
        take: async (program, guest) => {
          // Its ending is found by its seed, which must be known before.
          if (run.isDurable) await guest.journal.begin();
          const { instance, vars } = takeKept(this) ?? (await this.#load(program, guest, call));
          instance.guest = guest;
          for (const [variable, value] of vars) guest.setVariable(variable, value);
          return instance;
        },
        giveBack: async (_program, instance, ending) => {
          // What a call that failed has changed is dropped with its instance.
          if (ending === undefined || instance.guest === undefined) return files?.drop();
          try {
            await this.#commit(call, { instance, vars: instance.guest.vars }, ending);
          } catch (error) {
            files?.drop();
            throw error;
          }
          instance.guest = undefined;
        },
      };
    }

    /** Makes what a call has changed the state in which the next begins; in one transaction, or not at all. */
    async #commit(call: Stateful, { instance, vars }: Kept, ending: Ending): Promise<void> {
      const { servlet, rows, files, run, changes, signal } = call;
      const { journal } = instance.guest!;
      const change = rows.changed(instance, vars, buildOf(servlet));
      if (change.bytes > limits.stateBytes) throw tooLarge(change.bytes);
      const isShared = servlet.manifest.state === "server";
      const bytes = change.bytes + (files?.bytes ?? 0);
      await this.#room.demand(isShared ? undefined : run.call.caller, bytes);
      if (signal.aborted) throw new Fault("cancelled", "The call was cancelled.");
      try {
        this.ctx.storage.transactionSync(() => {
          files?.commit({ keepsOpen: true });
          rows.save(change);
          if (run.isDurable) rows.saveEnding(journal.recorded(), plainEnding(ending, changes));
          if (servlet.manifest.state === "session") void this.#setAlarm();
        });
      } catch (error) {
        // What they know of the database was undone.
        this.#stored = undefined;
        throw error;
      }
      if (changes.some(({ method }) => method.endsWith("list_changed"))) this.#lists = undefined;
      if (this.#room.isTooLargeFor(bytes)) {
        this.ctx.waitUntil(this.#room.shrink(bytes).catch(report));
      }
      call.isCommitted = true;
      instance.hasStarted = true;
      keepInstance(this, { instance, vars });
    }
  };
}

function servletOf({ servlets }: Bundle, name: string): BundledServlet {
  const servlet = servlets.find((one) => one.name === name);
  if (servlet === undefined) throw new Fault("unavailable", `Unknown servlet: ${name}`);
  return servlet;
}

const tooLarge = (bytes: number) =>
  new Fault(
    "servlet_failed",
    `The state of this servlet would take ${mebibytes(bytes)} (limit ${mebibytes(limits.stateBytes)}). Nothing was changed. Let it keep less.`,
  );

const CORRUPT =
  "The stored state of this servlet can no longer be read: the key that sealed it is gone, or it was altered. A changed build of the servlet begins anew: ask its operator for one.";
