/**
 * Stores the state of one servlet in one scope, and runs its guest beside it: a facet of the scope's object (see
 * state-facet.ts) with its own database, in the isolate of runner.ts.
 */
import { settled, unsettled, type Settled } from "../../kernel/core/settled.ts";
import { DurableObject } from "cloudflare:workers";
import type { CommittedEnding } from "../state/changes.ts";
import { ScopeState } from "../state/scope-state.ts";
import { exportOf, summaryOf, type StateSummary } from "../state/state-export.ts";
import { importInto } from "../state/state-import.ts";
import { heldStream, steady } from "../state/state-streams.ts";
import {
  putRows,
  rowsAt,
  type Position,
  type StoredRow,
} from "../../kernel/storage/stored-rows.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { configureLimits } from "../../kernel/core/limits.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { userFunctions } from "../../kernel/servlets/hyper/functions.ts";
import { newInstanceOf } from "../../kernel/wasm/pool.ts";
export { runnerOf } from "./runner.ts";
import { RunningCalls, type LoadedCode, type LoadedHooks, type LoadedRun } from "./runner.ts";

/** A run of an export with the state of a scope. */
interface StateRun extends LoadedRun {
  /** True if it may be run again from its record. */
  isDurable: boolean;
  /** Bytes of memory and files that may be stored, if known. */
  room?: number;
}

/** The hooks of such a run. */
export interface StateHooks extends LoadedHooks {
  /** Reserves this many bytes of storage. Fails if they may not be stored. */
  reserve(bytes: number, addsFiles: boolean): Promise<Settled<void>>;
}

/** The parts of a servlet that its state depends on. */
type StatefulServlet = Pick<PreparedServlet, "name" | "manifest">;

/** The code of a servlet, and the initial files of its folders. */
interface StateCode extends LoadedCode {
  files?: PreparedServlet["files"];
}

/**
 * The class of the facet for this code; without code, one that only reads the state. The modules that `loaded.ts`
 * writes import it.
 */
export function stateFacetOf({ limits: given, ...code }: StateCode | Pick<StateCode, "limits">) {
  configureLimits(given);
  const { hash, files, program } =
    "module" in code ? { ...code, program: { ...code, userFunctions } } : {};
  const running = new RunningCalls();
  const whole = (servlet: StatefulServlet) => ({
    ...servlet,
    hash: hash ?? "",
    ...(files && { files }),
  });

  return class State extends DurableObject<object, { key: Uint8Array }> {
    #state = this.#newState();

    /** The stored state, with nothing loaded yet. */
    #newState() {
      return new ScopeState(this.ctx.storage, this.ctx.props.key);
    }

    run(run: StateRun, hooks: StateHooks): Promise<Settled<CommittedEnding>> {
      const { servlet, export: name, input, isDurable, room } = run;
      const ended = running.run(run, hooks, (setup) =>
        this.#state.call({
          servlet: whole(servlet),
          program: demanded(),
          export: name,
          input,
          setup: { ...setup, keepsState: true },
          isDurable,
          ...(room !== undefined && { room }),
          reserve: async (bytes, addsFiles) => unsettled(await hooks.reserve(bytes, addsFiles)),
        }),
      );
      this.ctx.waitUntil(ended);
      return ended;
    }

    cancel(id: string): void {
      running.cancel(id);
    }

    summary(build: string | undefined): Promise<Settled<StateSummary>> {
      return settled(() => summaryOf(this.#state, build));
    }

    exported(name: string): Promise<Settled<ReadableStream<Uint8Array>>> {
      return settled(() => heldStream(exportOf(this.#state, name)));
    }

    imported(
      servlet: StatefulServlet,
      file: ReadableStream<Uint8Array>,
      { filesOnly, hooks }: { filesOnly: boolean; hooks: Pick<StateHooks, "reserve"> },
    ): Promise<Settled<void>> {
      return settled(async () => {
        await importInto(this.#state, steady(file), {
          servlet: whole(servlet),
          filesOnly,
          newInstance: () => newInstanceOf(demanded()),
          reserve: async (bytes, addsFiles) => unsettled(await hooks.reserve(bytes, addsFiles)),
        });
        await this.ctx.storage.sync();
      });
    }

    rowsAt(at: Position): Promise<Settled<StoredRow[]>> {
      return settled(() => rowsAt(this.ctx.storage.sql, at));
    }

    putRows(at: Position, rows: StoredRow[]): Promise<Settled<void>> {
      return settled(async () => {
        putRows(this.ctx.storage.sql, at, rows);
        this.#state = this.#newState();
        await this.ctx.storage.sync();
      });
    }

    bytes(): Promise<Settled<number>> {
      return settled(() => this.#state.bytes);
    }
  };

  function demanded() {
    if (program !== undefined) return program;
    throw new Fault("unavailable", "This servlet is not installed any more.");
  }
}

/** The state in a facet. */
export type StateFacet = InstanceType<ReturnType<typeof stateFacetOf>>;
