import { settled, unsettled, type Settled } from "../../kernel/core/settled.ts";
import { RpcTarget } from "cloudflare:workers";
import type { CommittedEnding } from "../state/changes.ts";
import type { RunContext } from "../../kernel/core/call-context.ts";
import type { StateSummary } from "../state/state-export.ts";
import type { Imported, BackendRun, StateBackend } from "../state/state-backend.ts";
import type { Position, StoredRow } from "../../kernel/storage/stored-rows.ts";
import { deleteFacet, FACET, hasFacet } from "../state/facets.ts";
import { Fault } from "../../kernel/core/errors.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { setupOf } from "../../kernel/servlets/setup.ts";
import { Wait } from "../../kernel/core/suspension.ts";
import type { Setup } from "../../kernel/wasm/call.ts";
import type { Facets } from "../state/state-backend.ts";
import { Hooks, loadedRun, stopped, type ServletLoader } from "./loaded.ts";
import type { StateFacet } from "./state-runner.ts";

/** The facets with the state of installed servlets. */
export const facetsWith = (loader: ServletLoader): Facets => ({
  open: (object, key) => new FacetBackend(object, loader, key),
  delete: deleteFacet,
});

/**
 * The state of a servlet from the bucket of builds: in a facet of its object, which has its own database
 * and runs in the servlet's isolate. See state-runner.ts.
 */
export class FacetBackend implements StateBackend {
  readonly #object: DurableObjectState;
  readonly #loader: ServletLoader;
  readonly #key: Uint8Array;
  /** The code that the facet runs. */
  #running: Awaited<ReturnType<ServletLoader["stateClass"]>> | undefined;

  /** The state is sealed with `key`. */
  constructor(object: DurableObjectState, loader: ServletLoader, key: Uint8Array) {
    this.#object = object;
    this.#loader = loader;
    this.#key = key;
  }

  async call({
    servlet,
    call,
    isDurable,
    room,
    reserve,
    ...run
  }: BackendRun): Promise<CommittedEnding> {
    const setup = setupOf(servlet, this.#loader.deployment, call);
    const id = crypto.randomUUID();
    const values = { ...loadedRun(servlet, call, setup, run), id, isDurable };
    const hooks = new StateHooks(call, setup, reserve);
    return this.#ask(servlet, async (state) => {
      const signal = call.signal();
      const cancel = () => void state.cancel(id).catch(() => {});
      signal.addEventListener("abort", cancel, { once: true });
      try {
        const ended = state.run({ ...values, ...(room !== undefined && { room }) }, hooks);
        if (signal.aborted) cancel();
        // Await the end of a cancelled run, too: nothing else may use the state before.
        return await ended;
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    });
  }

  summary(build: string | undefined): Promise<StateSummary> {
    return this.#ask(undefined, async (state) => state.summary(build));
  }

  exported(servlet: string): Promise<ReadableStream<Uint8Array>> {
    return this.#ask(undefined, async (state) => state.exported(servlet));
  }

  imported(
    servlet: PreparedServlet,
    file: ReadableStream<Uint8Array>,
    { filesOnly, reserve }: Imported,
  ): Promise<void> {
    const { name, manifest } = servlet;
    const hooks = new Reserve(reserve);
    return this.#ask(servlet, async (state) =>
      state.imported({ name, manifest }, file, { filesOnly, hooks }),
    );
  }

  rowsAt(at: Position): Promise<StoredRow[]> {
    return this.#ask(undefined, async (state) => state.rowsAt(at));
  }

  putRows(servlet: PreparedServlet, at: Position, rows: StoredRow[]): Promise<void> {
    return this.#ask(servlet, async (state) => state.putRows(at, rows));
  }

  bytes(): Promise<number> {
    return this.#ask(undefined, async (state) => state.bytes());
  }

  isEmpty(): boolean {
    return !hasFacet(this.#object);
  }

  delete(): void {
    deleteFacet(this.#object);
    this.#running = undefined;
  }

  /** Asks the facet, started with this servlet's code; without a servlet, with any code. */
  async #ask<T>(
    servlet: PreparedServlet | undefined,
    ask: (state: Fetcher<StateFacet>) => Promise<Settled<T>>,
  ): Promise<T> {
    const { facets, storage } = this.#object;
    const known = servlet === undefined ? this.#running : undefined;
    const code = known ?? (await this.#loader.stateClass(servlet, this.#key));
    if (this.#running !== undefined && this.#running.name !== code.name) {
      // Its database stays.
      facets.abort(FACET, new Error("The servlet has other code."));
    }
    if (servlet !== undefined && this.isEmpty()) {
      storage.sql.exec("CREATE TABLE facet (id INTEGER PRIMARY KEY)");
      // Otherwise a crash could leave a facet that nothing knows and deletes.
      await storage.sync();
    }
    this.#running = code;
    try {
      return unsettled(await ask(facets.get(FACET, () => ({ class: code.load() }))));
    } catch (error) {
      if (error instanceof Fault || error instanceof Wait) throw error;
      code.failed();
      facets.abort(FACET, error);
      this.#running = undefined;
      throw stopped(servlet ?? { name: "of this state" }, error);
    }
  }
}

/** The hooks of a call whose state is in a facet. */
class StateHooks extends Hooks {
  readonly #reserve: BackendRun["reserve"];

  constructor(call: RunContext, setup: Setup, reserve: BackendRun["reserve"]) {
    super(call, setup);
    this.#reserve = reserve;
  }

  reserve(bytes: number, addsFiles: boolean): Promise<Settled<void>> {
    return settled(() => this.#reserve(bytes, addsFiles));
  }
}

/** The only hook of an import. */
class Reserve extends RpcTarget {
  readonly #reserve: BackendRun["reserve"];

  constructor(reserve: BackendRun["reserve"]) {
    super();
    this.#reserve = reserve;
  }

  reserve(bytes: number, addsFiles: boolean): Promise<Settled<void>> {
    return settled(() => this.#reserve(bytes, addsFiles));
  }
}
