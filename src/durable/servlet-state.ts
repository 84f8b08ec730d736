import { DurableObject } from "cloudflare:workers";
import { isAnonymous } from "../callers.ts";
import { deleteFacet, FacetPlace } from "../builds/state-facet.ts";
import { Fault, report } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Bundle, PreparedServlet, ServletRef } from "../servlets/bundle.ts";
import { connected } from "../servlets/connect.ts";
import { partsOf } from "../servlets/setup.ts";
import type { Viewer } from "../servlets/deployment.ts";
import { listAll, nobodysCall } from "../servlets/servlet.ts";
import { changesIn, endingOf, type PlainEnding } from "./plain-ending.ts";
import {
  contextOf,
  settled,
  type RemoteHooks,
  type RunContext,
  type Settled,
  type StatefulRun,
  type StateImport,
  type StateObject,
} from "./remote-hooks.ts";
import { Room } from "./room.ts";
import { buildOf } from "./scope-state.ts";
import type { Share } from "./shared.ts";
import type { StateSummary } from "./state-export.ts";
import { StateHome } from "./state-home.ts";
import { OwnPlace, type StatePlace } from "./state-place.ts";
import { heldStream } from "./state-streams.ts";
import { Turns } from "./turns.ts";

/** A run of an export here. */
type Run = Pick<StatefulRun, "export" | "input" | "call" | "recorded" | "seed"> & {
  /** True if it may be run again from its record. */
  isDurable?: boolean;
};

/**
 * The state of one servlet in one scope: its memory, globals and variables as its last successful call left
 * them. Guests run here, one at a time, beside the SQLite database that has it.
 */
export function servletStateObject(bundle: Bundle, share: Share) {
  return class ServletState extends DurableObject implements StateObject {
    readonly #share: ReturnType<Share>;
    #places: Promise<{ own: OwnPlace; home: StateHome }> | undefined;
    /** The lists that a version of the servlet has given in this state. */
    #lists: { text: string; until: number; version: string } | undefined;
    /** When it is deleted, in Unix ms; 0 if never, undefined where it is not known. */
    #until: number | undefined;
    readonly #room: Room;
    readonly #turns = new Turns(limits.queuedCalls);
    readonly #running = new Map<string, AbortController>();

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      this.#share = share(env);
      this.#room = new Room(state, env);
    }

    /** Where the state of a servlet is kept; of one that is not served any more, where it was. */
    async #place(servlet: PreparedServlet | undefined): Promise<StatePlace> {
      const { home } = await this.#opened();
      return servlet === undefined ? home.place : home.placeFor(servlet);
    }

    /** The places with the key of the scope: this object's database, and its facet. */
    #opened() {
      const opened = async () => {
        const { sealer, serving } = this.#share;
        const key = await sealer.scopeKey(String(this.ctx.id));
        const own = new OwnPlace(this.ctx.storage, key, serving.deployment);
        const facet = new FacetPlace(this.ctx, serving.loader, key);
        return { own, home: new StateHome(this.ctx.storage, { own, facet }) };
      };
      this.#places ??= opened().catch((error: unknown) => {
        this.#places = undefined;
        throw error;
      });
      return this.#places;
    }

    /** Runs an export, and stores what it has changed before its ending is returned. */
    run(run: StatefulRun, hooks: RemoteHooks): Promise<Settled<PlainEnding>> {
      return settled(async () => {
        const servlet = demanded(this.#servlet(run.servlet));
        const stop = new AbortController();
        this.#running.set(run.id, stop);
        const sent: Promise<unknown>[] = [];
        try {
          const call = { ...contextOf(hooks, run.there, sent), signal: () => stop.signal };
          return await this.#inTurn(stop.signal, () =>
            this.#call(servlet, { ...run, isDurable: run.there.repeats }, call),
          );
        } finally {
          this.#running.delete(run.id);
          // Its caller hears all of them before it hears how the call has ended.
          await Promise.all(sent);
        }
      });
    }

    /** Stops a call that runs, or waits for its turn. */
    cancel(id: string): void {
      this.#running.get(id)?.abort();
    }

    /** The servlet's lists in this state. Cached until the servlet says that they have changed, or for a while. */
    lists(of: ServletRef, viewer: Viewer): Promise<Settled<string>> {
      return settled(async () => {
        const servlet = demanded(this.#servlet(of));
        const known = () => {
          const { text, until, version } = this.#lists ?? NO_LISTS;
          return version === versionOf(servlet) && until > Date.now() ? text : undefined;
        };
        const signal = nobodysCall.signal();
        return known() ?? this.#inTurn(signal, async () => known() ?? this.#list(servlet, viewer));
      });
    }

    async #list(prepared: PreparedServlet, viewer: Viewer): Promise<string> {
      const { deployment } = this.#share.serving;
      const servlet = connected(prepared, {
        ...deployment,
        runStateful: async (bundled, run, call) =>
          endingOf(await this.#call(bundled, { ...run, call: partsOf(call) }, call)),
      });
      const text = JSON.stringify(await listAll(servlet, { ...nobodysCall, ...viewer }));
      this.#lists = {
        text,
        until: Date.now() + limits.dynamicListMs,
        version: versionOf(prepared),
      };
      return text;
    }

    /** The servlet; undefined if it is not served any more. */
    #servlet({ name, build }: ServletRef): PreparedServlet | undefined {
      return build ?? bundle.servlets.find((one) => one.name === name);
    }

    async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      await this.#turns.take(signal);
      try {
        return await work();
      } finally {
        this.#turns.release();
      }
    }

    async #call(servlet: PreparedServlet, run: Run, call: RunContext): Promise<PlainEnding> {
      const place = await this.#place(servlet);
      const { state: scope } = servlet.manifest;
      await this.#keep(servlet, run.call.caller);
      const caller = scope === "server" ? undefined : run.call.caller;
      const hasFolders = (servlet.manifest.allowed_paths ?? []).length > 0;
      let stored: number | undefined;
      const ending = await place.call({
        servlet,
        export: run.export,
        input: run.input,
        call: { ...call, ...run.call },
        recorded: run.recorded,
        seed: run.seed,
        isDurable: run.isDurable === true,
        ...(hasFolders && { room: await this.#room.available(caller) }),
        reserve: (bytes) => {
          stored = bytes;
          return this.#room.demand(caller, bytes);
        },
      });
      const hasChanged = changesIn(ending).some(({ method }) => method.endsWith("list_changed"));
      // Another version may have begun with new memory.
      const isOther = this.#lists !== undefined && this.#lists.version !== versionOf(servlet);
      if (hasChanged || isOther) this.#lists = undefined;
      if (stored !== undefined && this.#room.isTooLargeFor(stored)) {
        this.ctx.waitUntil(this.#room.shrink(stored).catch(report));
      }
      return ending;
    }

    /** Sets when the state is deleted, where its caller may never come back: a session that ends, an anonymous caller. */
    async #keep({ manifest }: PreparedServlet, caller: string | undefined): Promise<void> {
      const ms = lifetimeOf(manifest, caller);
      if (ms === undefined) return;
      const { storage } = this.ctx;
      this.#until ??= (await storage.getAlarm()) ?? 0;
      if (this.#until >= Date.now() + ms) return;
      this.#until = Date.now() + ms + limits.stateSlackMs;
      await storage.setAlarm(this.#until);
    }

    /** Deletes state that has been unused for too long; if a call runs or waits, tries again later. */
    override async alarm(): Promise<void> {
      if (!this.#turns.takeNow()) {
        this.#until = Date.now() + limits.waitMs;
        return this.ctx.storage.setAlarm(this.#until);
      }
      try {
        await this.#forget();
      } finally {
        this.#turns.release();
      }
    }

    /** Sizes and times of the state. */
    summary(of: ServletRef): Promise<Settled<StateSummary>> {
      return settled(() =>
        this.#inTurn(nobodysCall.signal(), async () => {
          const servlet = this.#servlet(of);
          return (await this.#place(servlet)).summary(servlet && buildOf(servlet));
        }),
      );
    }

    /** The whole as a file. Calls wait until it is read or cancelled. */
    exported(of: ServletRef): Promise<Settled<ReadableStream<Uint8Array>>> {
      return settled(async () => {
        await this.#turns.take(nobodysCall.signal());
        const release = () => this.#turns.release();
        try {
          const place = await this.#place(this.#servlet(of));
          const file = await place.exported(of.name);
          return heldStream(file, limits.stateStallMs, release);
        } catch (error) {
          release();
          throw error;
        }
      });
    }

    /** Replaces what is kept by a file's content. */
    imported(
      { servlet: of, caller, filesOnly }: StateImport,
      file: ReadableStream<Uint8Array>,
    ): Promise<Settled<StateSummary>> {
      return settled(() =>
        this.#inTurn(nobodysCall.signal(), async () => {
          const servlet = demanded(this.#servlet(of));
          const place = await this.#place(servlet);
          const reserve = (bytes: number) => this.#room.demand(caller, bytes);
          await place.imported(servlet, file, { filesOnly, reserve });
          this.#lists = undefined;
          await this.#keep(servlet, caller);
          return place.summary(buildOf(servlet));
        }),
      );
    }

    /** Deletes what is kept when no call runs. */
    forget(): Promise<Settled<void>> {
      return settled(() => this.#inTurn(nobodysCall.signal(), () => this.#forget()));
    }

    async #forget(): Promise<void> {
      // Opening fails if the key is gone, which is a reason to delete the state.
      const places = await this.#places?.catch(() => undefined);
      places?.own.drop();
      this.#places = undefined;
      this.#lists = undefined;
      this.#until = undefined;
      await this.#room.release(() => {
        deleteFacet(this.ctx);
        return this.ctx.storage.deleteAll();
      });
    }

    /** Bytes that are reserved for it among those of its caller. Gives back what it does not need. */
    async held(): Promise<number> {
      if (this.#room.bytes === 0 || !this.#turns.takeNow()) return this.#room.bytes;
      try {
        const bytes = await (await this.#place(undefined)).bytes();
        this.ctx.waitUntil(this.#room.shrink(bytes).catch(report));
        return this.#room.bytes;
      } finally {
        this.#turns.release();
      }
    }
  };
}

/** How long what is kept for this caller stays after its last call, in ms; undefined where it stays until it is deleted. */
function lifetimeOf({ state }: PreparedServlet["manifest"], caller: string | undefined) {
  if (state === "session") return limits.sessionStateMs;
  return state === "caller" && isAnonymous(caller) ? limits.anonymousStateMs : undefined;
}

function demanded(servlet: PreparedServlet | undefined): PreparedServlet {
  if (servlet !== undefined) return servlet;
  throw new Fault("unavailable", "This servlet is no longer served. List the tools again.");
}

/** Identifies a version: installed ones can have the same code, and another manifest or other files. */
const versionOf = ({ hash, manifest, parts }: PreparedServlet): string =>
  JSON.stringify([hash, manifest, parts]);

const NO_LISTS = { text: "", until: 0, version: "" };
