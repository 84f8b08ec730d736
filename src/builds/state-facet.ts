import type { PlainEnding } from "../durable/plain-ending.ts";
import { settled, unsettled, type RunContext, type Settled } from "../durable/remote-hooks.ts";
import type { StateSummary } from "../durable/state-export.ts";
import type { PlaceRun, StatePlace } from "../durable/state-place.ts";
import { hasTable } from "../durable/tables.ts";
import type { PreparedServlet } from "../servlets/bundle.ts";
import { setupOf } from "../servlets/setup.ts";
import type { Setup } from "../wasm/call.ts";
import { RpcTarget } from "cloudflare:workers";
import { Hooks, loadedRun, type ServletLoader } from "./loaded.ts";
import type { StateFacet } from "./state-runner.ts";

/** The name of the facet. */
const FACET = "state";

/** Deletes the state that is kept in a facet of this object; opening it is not needed. */
export function deleteFacet({ facets, storage }: DurableObjectState): void {
  facets.delete(FACET);
  storage.sql.exec("DROP TABLE IF EXISTS facet");
}

/**
 * The state of a servlet whose code is in the bucket of builds: in a facet of its object, which has a database of its own
 * and runs in the servlet's isolate. See state-runner.ts.
 */
export class FacetPlace implements StatePlace {
  readonly #object: DurableObjectState;
  readonly #loader: ServletLoader;
  readonly #key: Uint8Array;
  /** The code that the facet runs, by its name. */
  #running: string | undefined;

  /** Sealed with this key. */
  constructor(object: DurableObjectState, loader: ServletLoader, key: Uint8Array) {
    this.#object = object;
    this.#loader = loader;
    this.#key = key;
  }

  async call({ servlet, call, isDurable, room, reserve, ...run }: PlaceRun): Promise<PlainEnding> {
    const state = await this.#opened(servlet);
    const setup = setupOf(servlet, this.#loader.deployment, call);
    const values = loadedRun(servlet, call, setup, run);
    const hooks = new StateHooks(call, setup, reserve);
    return this.#loader.stoppable(servlet, state, call, (id) =>
      state.run({ ...values, id, isDurable, ...(room !== undefined && { room }) }, hooks),
    );
  }

  async summary(build: string | undefined): Promise<StateSummary> {
    const state = await this.#opened(undefined);
    return unsettled(await state.summary(build));
  }

  async exported(servlet: string): Promise<AsyncIterator<Uint8Array>> {
    const state = await this.#opened(undefined);
    return unsettled(await state.exported(servlet)).values();
  }

  async imported(
    servlet: PreparedServlet,
    filesOnly: boolean,
    file: ReadableStream<Uint8Array>,
    reserve: PlaceRun["reserve"],
  ): Promise<void> {
    const state = await this.#opened(servlet);
    const { name, manifest } = servlet;
    const hooks = new Reserve(reserve);
    unsettled(await state.imported({ name, manifest }, filesOnly, file, hooks));
  }

  async bytes(): Promise<number> {
    return (await this.#opened(undefined)).bytes();
  }

  isEmpty(): boolean {
    return !hasTable(this.#object.storage.sql, "facet");
  }

  delete(): void {
    deleteFacet(this.#object);
    this.#running = undefined;
  }

  /** The facet with this servlet's code; without one, with any. */
  async #opened(servlet: PreparedServlet | undefined) {
    const { facets, storage } = this.#object;
    const { name, load } = await this.#loader.stateClass(servlet, this.#key);
    if (servlet !== undefined && this.#running !== name) {
      // What it runs goes on otherwise. Its database stays.
      if (this.#running !== undefined)
        facets.abort(FACET, new Error("The servlet has other code."));
      storage.sql.exec("CREATE TABLE IF NOT EXISTS facet (id INTEGER PRIMARY KEY)");
      this.#running = name;
    }
    this.#running ??= name;
    return facets.get<StateFacet>(FACET, () => ({ class: load() }));
  }
}

/** The hooks of a call in a state that is kept in a facet. */
class StateHooks extends Hooks {
  readonly #reserve: PlaceRun["reserve"];

  constructor(call: RunContext, setup: Setup, reserve: PlaceRun["reserve"]) {
    super(call, setup);
    this.#reserve = reserve;
  }

  reserve(bytes: number): Promise<Settled<void>> {
    return settled(() => this.#reserve(bytes));
  }
}

/** The one hook of an import. */
class Reserve extends RpcTarget {
  readonly #reserve: PlaceRun["reserve"];

  constructor(reserve: PlaceRun["reserve"]) {
    super();
    this.#reserve = reserve;
  }

  reserve(bytes: number): Promise<Settled<void>> {
    return settled(() => this.#reserve(bytes));
  }
}
