import type { BundledServlets } from "../../kernel/servlets/bundle.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import type { Deployment } from "../../kernel/servlets/deployment.ts";
import type { StoredSize } from "../../kernel/observe/counted.ts";
import type { QuotaEnv } from "../../kernel/auth/quota.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import type { RunContext } from "../../kernel/core/call-context.ts";
import { settled, type Settled } from "../../kernel/core/settled.ts";
import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { isAnonymous } from "../../kernel/core/callers.ts";
import { Fault, logError, report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { PreparedServlet, ServletRef } from "../../kernel/servlets/bundle.ts";
import { connected } from "../../kernel/servlets/connect.ts";
import { stateRunner } from "../../kernel/servlets/runners.ts";
import { callPartsOf } from "../../kernel/servlets/setup.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import { listAll, nobodysCall } from "../../kernel/servlets/servlet.ts";
import type { CommittedEnding } from "./changes.ts";
import {
  contextOf,
  type RemoteHooks,
  RemoteSignal,
  type StatefulRun,
  type StateImport,
} from "./remote-hooks.ts";
import { StorageReservation } from "./storage-reservation.ts";
import { buildIdOf, unreadable } from "./scope-state.ts";
import type { StateSummary } from "./state-export.ts";
import { noFacets } from "./facets.ts";
import { documentBytes, StateDocuments, type StateDocument } from "./state-documents.ts";
import { StateSealing } from "./state-sealing.ts";
import { StateBackends, OwnBackend, type Facets, type StateBackend } from "./state-backend.ts";
import { heldStream } from "./state-streams.ts";
import { Turns } from "../../kernel/storage/turns.ts";

/** Maximum delay of a deletion after `sessionStateMs` or `anonymousStateMs`, so that not every call sets the alarm. */
const STATE_SLACK_MS = 3_600_000;

/** The parts of the server that a servlet's state uses. */
interface StateServer {
  readonly bundle: BundledServlets;
  readonly sealer: Sealer;
  readonly deployment: Deployment;
  /** Absent if the server cannot install servlets. */
  readonly facets?: Facets;
  readonly counting?: { stored(stored: StoredSize): void } | undefined;
}

type Run = Pick<StatefulRun, "export" | "input" | "call" | "recorded" | "seed" | "time"> & {
  /** True if the call may be run again from its record; then its ending is stored. */
  isDurable?: boolean;
  isCancelled?: () => boolean;
};

/**
 * The Durable Object with the state of one servlet in one scope. It runs one call at a time, reserves storage in the
 * caller's quota, and deletes expired state. Memory and files are stored in a `StateBackend`.
 */
export class ServletState extends DurableObject<QuotaEnv> {
  readonly #server: StateServer;
  #opening: Promise<{ own: OwnBackend; all: StateBackends; documents: StateDocuments }> | undefined;
  #documentBytes: number | undefined;
  /** The last lists of the servlet in this state, as JSON, with their time and the servlet's version. */
  #lists: { text: string; at: number; version: string } | undefined;
  /** When the state is deleted, in Unix ms; 0 if never, undefined until the alarm was read. */
  #until: number | undefined;
  readonly #reservation: StorageReservation;
  readonly #turns = new Turns(limits.queuedCalls);
  readonly #running = new Map<string, RemoteSignal>();
  readonly #alarm = new Alarm(this.ctx.storage);

  constructor(state: DurableObjectState, env: QuotaEnv, server: StateServer) {
    super(state, env);
    this.#server = server;
    this.#reservation = new StorageReservation(state, env);
  }

  /** The backend in which this servlet runs; moves its state there first if needed. Without a servlet, the current one. */
  async #backend(servlet: PreparedServlet | undefined): Promise<StateBackend> {
    const { all } = await this.#open();
    return servlet === undefined ? all.current : all.for(servlet);
  }

  /** The two backends, opened with the scope's key: this object's database, and its facet. */
  #open() {
    const opened = async () => {
      const { sealer, deployment, facets } = this.#server;
      const key = await sealer.scopeKey(String(this.ctx.id));
      const own = new OwnBackend(this.ctx.storage, key, deployment);
      const facet = (facets ?? noFacets).open(this.ctx, key);
      const documents = new StateDocuments(this.ctx.storage.sql, new StateSealing(key));
      return { own, all: new StateBackends(this.ctx.storage, { own, facet }), documents };
    };
    this.#opening ??= opened().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Runs an export, and stores its changes before it returns the ending. */
  run(run: StatefulRun, hooks: RemoteHooks): Promise<Settled<CommittedEnding>> {
    return settled(async () => {
      const servlet = demandServed(this.#servlet(run.servlet));
      const signal = new RemoteSignal(hooks);
      this.#running.set(run.id, signal);
      const sent: Promise<unknown>[] = [];
      try {
        const call = { ...contextOf(hooks, run.there, sent), signal: signal.get };
        const isCancelled = () => signal.isAborted;
        const whole = { ...run, isDurable: run.there.repeats, isCancelled };
        const work = () => this.#call(servlet, whole, call);
        return await this.#inTurn(work, { ...run, signal: signal.get });
      } finally {
        this.#running.delete(run.id);
        // All notifications must reach the caller before the ending does.
        await Promise.all(sent);
      }
    });
  }

  /**
   * What a feature keeps beside this state; undefined if nothing. Does not wait for the call that runs. Throws `unavailable` if
   * it cannot be read.
   */
  document(servlet: string, name: string): Promise<Settled<StateDocument | undefined>> {
    return settled(async () => {
      const { documents } = await this.#open();
      return documents.read(name).catch((error: unknown) => {
        logError(error);
        throw unreadable(servlet);
      });
    });
  }

  /**
   * Replaces what a feature keeps beside this state, of which it has read the revision (0 if there was nothing). False if there
   * is another one by now. Throws `servlet_failed` if there is no room for the caller.
   */
  replaceDocument(
    { servlet, caller, name }: { servlet: ServletRef; caller?: string | undefined; name: string },
    { text, revision }: StateDocument,
  ): Promise<Settled<boolean>> {
    return settled(async () => {
      const served = demandServed(this.#servlet(servlet));
      const { documents, all } = await this.#open();
      const sealed = await documents.seal(name, text);
      const { sql } = this.ctx.storage;
      const others = (await all.current.bytes()) + documentBytes(sql, name);
      await this.#postponeDeletion(served, caller);
      await this.#reservation.demand(caller, others + sealed.length, true);
      this.#documentBytes = undefined;
      return documents.replace(name, revision, sealed);
    });
  }

  /** Counted once: each call that changes the state asks for it. */
  #bytesOfDocuments(): number {
    return (this.#documentBytes ??= documentBytes(this.ctx.storage.sql));
  }

  /** Stops a call that runs or waits for its turn; does nothing for any other id. */
  cancel(id: string): void {
    this.#running.get(id)?.abort();
  }

  /** The servlet's `CollectedLists` in this state, as JSON. Cached for `limits.dynamicListMs` or until they change. */
  lists(of: ServletRef, viewer: Viewer): Promise<Settled<string>> {
    return settled(async () => {
      const servlet = demandServed(this.#servlet(of));
      const known = () => {
        const { text, at, version } = this.#lists ?? NO_LISTS;
        const isKnown = version === versionOf(servlet) && isRecent(at, limits.dynamicListMs);
        return isKnown ? text : undefined;
      };
      return known() ?? this.#inTurn(async () => known() ?? this.#list(servlet, viewer));
    });
  }

  async #list(prepared: PreparedServlet, viewer: Viewer): Promise<string> {
    const { deployment } = this.#server;
    const servlet = connected(prepared, {
      ...deployment,
      runners: [
        stateRunner((bundled, run, call) =>
          this.#call(bundled, { ...run, call: callPartsOf(call) }, call),
        ),
      ],
    });
    // Shared lists must not depend on who asks first.
    const asker = prepared.manifest.state === "server" ? {} : viewer;
    const text = JSON.stringify(await listAll(servlet, { ...nobodysCall, ...asker }));
    this.#lists = {
      text,
      at: Date.now(),
      version: versionOf(prepared),
    };
    return text;
  }

  /** The servlet; undefined if it is no longer served. */
  #servlet({ name, build }: ServletRef): PreparedServlet | undefined {
    return build ?? this.#server.bundle.servlets.find((one) => one.name === name);
  }

  #stored(servlet: string, caller = "", bytes = 0): void {
    this.#server.counting?.stored({ object: String(this.ctx.id), servlet, caller, bytes });
  }

  /** Does work in its turn. Throws `too_many` after `patienceMs`, `cancelled` if the signal aborts first. */
  async #inTurn<T>(
    work: () => Promise<T>,
    waiting: { patienceMs?: number | undefined; signal(): AbortSignal } = nobodysCall,
  ): Promise<T> {
    if (!this.#turns.takeNow()) await this.#waitForTurn(waiting.signal(), waiting.patienceMs);
    try {
      return await work();
    } finally {
      this.#turns.release();
    }
  }

  async #waitForTurn(signal: AbortSignal, patienceMs?: number): Promise<void> {
    if (patienceMs === undefined) return this.#turns.take(signal);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), patienceMs);
    try {
      await this.#turns.take(AbortSignal.any([signal, late.signal]));
    } catch (error) {
      throw late.signal.aborted && !signal.aborted ? stateInUse() : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #call(servlet: PreparedServlet, run: Run, call: RunContext): Promise<CommittedEnding> {
    const backend = await this.#backend(servlet);
    const { state: scope } = servlet.manifest;
    await this.#postponeDeletion(servlet, run.call.caller);
    const caller = scope === "server" ? undefined : run.call.caller;
    const hasFolders = (servlet.manifest.allowed_paths ?? []).length > 0;
    let stored: number | undefined;
    const ending = await backend.call({
      servlet,
      export: run.export,
      input: run.input,
      call: { ...call, ...run.call },
      recorded: run.recorded,
      seed: run.seed,
      time: run.time,
      isDurable: run.isDurable === true,
      ...(run.isCancelled && { isCancelled: run.isCancelled }),
      ...(hasFolders && { room: await this.#reservation.available(caller) }),
      reserve: (bytes, addsFiles) => {
        stored = bytes + this.#bytesOfDocuments();
        return this.#reservation.demand(caller, stored, addsFiles);
      },
    });
    const hasChanged = ending.changes?.some(({ method }) => method.endsWith("list_changed"));
    // Another version may have started with empty memory, and so have other lists.
    const isOther = this.#lists !== undefined && this.#lists.version !== versionOf(servlet);
    if (hasChanged || isOther) this.#lists = undefined;
    if (stored !== undefined) this.#stored(servlet.name, caller, stored);
    if (stored !== undefined && this.#reservation.isTooLargeFor(stored)) {
      this.ctx.waitUntil(this.#reservation.shrink(stored).catch(report));
    }
    return ending;
  }

  /** Postpones the deletion of a session's or anonymous caller's state, since the caller may never come back. */
  async #postponeDeletion({ manifest }: PreparedServlet, caller?: string): Promise<void> {
    const ms = lifetimeOf(manifest, caller);
    if (ms === undefined) return;
    this.#until ??= (await this.ctx.storage.getAlarm()) ?? 0;
    if (this.#until >= Date.now() + ms) return;
    this.#until = Date.now() + ms + STATE_SLACK_MS;
    await this.#alarm.set(this.#until);
  }

  /** Deletes state that has been unused for too long; if a call runs or waits, tries again later. */
  override alarm(info?: AlarmInvocationInfo): Promise<void> {
    return this.#alarm.ring(info, async (now) => {
      if (!this.#turns.takeNow()) {
        this.#until = now + limits.waitMs;
        return this.#alarm.set(this.#until);
      }
      try {
        await this.#forget();
      } finally {
        this.#turns.release();
      }
    });
  }

  /** Sizes and times of the state. */
  summary(of: ServletRef): Promise<Settled<StateSummary>> {
    return settled(() =>
      this.#inTurn(async () => {
        const servlet = this.#servlet(of);
        return (await this.#backend(servlet)).summary(servlet && buildIdOf(servlet));
      }),
    );
  }

  /** The whole state as a file. Calls wait until it was read or cancelled, or has stalled for `limits.stateStallMs`. */
  exported(of: ServletRef): Promise<Settled<ReadableStream<Uint8Array>>> {
    return settled(async () => {
      await this.#turns.take(nobodysCall.signal());
      const release = () => this.#turns.release();
      try {
        const backend = await this.#backend(this.#servlet(of));
        const file = await backend.exported(of.name);
        return heldStream(file, release);
      } catch (error) {
        release();
        throw error;
      }
    });
  }

  /** Replaces the state by a file's content; `filesOnly` replaces only the files. */
  imported(
    { servlet: of, caller, filesOnly }: StateImport,
    file: ReadableStream<Uint8Array>,
  ): Promise<Settled<StateSummary>> {
    return settled(() =>
      this.#inTurn(async () => {
        const servlet = demandServed(this.#servlet(of));
        const backend = await this.#backend(servlet);
        const reserve = (bytes: number, addsFiles: boolean) =>
          this.#reservation.demand(caller, bytes + this.#bytesOfDocuments(), addsFiles);
        await this.#postponeDeletion(servlet, caller);
        await backend.imported(servlet, file, { filesOnly, reserve });
        this.#lists = undefined;
        return backend.summary(buildIdOf(servlet));
      }),
    );
  }

  /** Deletes the state in its turn, after the calls before it. */
  forget(): Promise<Settled<void>> {
    return settled(() => this.#inTurn(() => this.#forget()));
  }

  async #forget(): Promise<void> {
    // State whose key is gone cannot be opened, and must be deletable.
    const opened = await this.#opening?.catch(() => undefined);
    opened?.own.drop();
    this.#opening = this.#lists = this.#until = undefined;
    this.#stored("");
    await this.#reservation.release(() => {
      (this.#server.facets ?? noFacets).delete(this.ctx);
      this.#documentBytes = 0;
      return this.ctx.storage.deleteAll();
    });
  }

  /** The bytes reserved in the caller's quota. If no call runs, releases those that are not needed. */
  async held(): Promise<number> {
    if (this.#reservation.bytes === 0 || !this.#turns.takeNow()) return this.#reservation.bytes;
    try {
      const kept = await (await this.#backend(undefined)).bytes();
      const bytes = kept + this.#bytesOfDocuments();
      this.ctx.waitUntil(this.#reservation.shrink(bytes).catch(report));
      return this.#reservation.bytes;
    } finally {
      this.#turns.release();
    }
  }
}

/** How long state is stored after its last call, in ms; undefined if it has no expiry. */
function lifetimeOf({ state }: PreparedServlet["manifest"], caller: string | undefined) {
  if (state === "session") return limits.sessionStateMs;
  return state === "caller" && isAnonymous(caller) ? limits.anonymousStateMs : undefined;
}

const stateInUse = () =>
  new Fault(
    "too_many",
    "The state of this servlet is in use by another call, which may wait for this one. Try again in a moment.",
    { data: { retryAfter: 1 } },
  );

function demandServed(servlet: PreparedServlet | undefined): PreparedServlet {
  if (servlet !== undefined) return servlet;
  throw new Fault("unavailable", "This servlet is no longer served. List the tools again.");
}

/** Identifies a version: two installed versions can have the same hash but different manifests or files. */
const versionOf = ({ hash, manifest, parts }: PreparedServlet): string =>
  JSON.stringify([hash, manifest, parts]);

const NO_LISTS = { text: "", at: 0, version: "" };
