import type { CallContext } from "../../server/kernel/core/call-context.ts";
import {
  buildIdOf,
  ScopeState,
  type StateStorage,
} from "../../server/features/state/scope-state.ts";
import { scopeOf, type Scope } from "../../server/features/state/state-scopes.ts";
import type { Files } from "../../server/kernel/files/files.ts";
import { mountOf } from "../../server/kernel/files/guest-paths.ts";
import { fileBytesOf, putFile, rootOfStore, treeOf } from "../../server/kernel/files/tree.ts";
import { ANONYMOUS, type Principal } from "../../server/kernel/core/model.ts";
import type { PreparedServlet } from "../../server/kernel/servlets/bundle.ts";
import { begunBy, programOf } from "../../server/kernel/servlets/connect.ts";
import { callPartsOf, setupOf } from "../../server/kernel/servlets/setup.ts";
import type { Deployment } from "../../server/kernel/servlets/deployment.ts";
import type { Ending } from "../../server/kernel/wasm/call.ts";

/**
 * The caller and session whose state is meant.
 *
 * @example
 * const journal = await loadServlet("plugins/journal");
 * const ada: Whose = { caller: "ada" };
 * await journal.writeFiles({ "/journal/today.txt": "Water the plants." }, ada);
 * await journal.files(ada); // → { "/journal/today.txt": "Water the plants." }
 */
export interface Whose {
  /** The caller's name; anonymous by default. */
  caller?: string;
  /** The session's id; no session by default. */
  session?: string;
}

export const principalOf = ({ caller }: Whose): Principal =>
  caller === undefined ? ANONYMOUS : { name: caller };

interface StateEntry {
  state: ScopeState;
  /** Settles when all earlier calls have ended. */
  idle: Promise<unknown>;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The states of a servlet under test, in databases in memory. */
export class TestStates {
  readonly #servlet: PreparedServlet;
  readonly #kept = new Map<string, StateEntry>();
  readonly #newStorage: () => StateStorage;

  constructor(servlet: PreparedServlet, newStorage: () => StateStorage) {
    this.#servlet = servlet;
    this.#newStorage = newStorage;
  }

  /** Runs an export in the state of its caller, after earlier calls in that state have ended. */
  run(deployment: Deployment, run: { export: string; input: string }, call: CallContext) {
    const servlet = this.#servlet;
    const { recorded, keeper } = call;
    const setup = {
      ...setupOf(servlet, deployment, { ...call, ...callPartsOf(call) }),
      recorded,
      keeper,
      ...begunBy(call),
    };
    const program = programOf(servlet, deployment);
    // A durable call would return the recorded ending; a test with a journal wants a replay.
    const whole = { ...run, servlet, program, setup, isDurable: false };
    return this.#inTurn(scopeOf(servlet.manifest, call), async (state): Promise<Ending> => {
      const ending = await state.call(whole);
      for (const { method, uri } of ending.changes ?? []) {
        call.notify({ method, ...(uri !== undefined && { params: { uri } }) });
      }
      return ending;
    });
  }

  /** All files, by the paths that the servlet uses: as text, or as bytes if a file is not UTF-8. */
  files(whose: Whose): Promise<Record<string, string | Uint8Array>> {
    return this.#withFiles(whose, (files) => {
      const found: Record<string, string | Uint8Array> = {};
      for (const { host, path: folder } of files.mounts) {
        for (const { kind, path, node } of treeOf(files, rootOfStore(files, host)!)) {
          if (kind !== "file") continue;
          const bytes = fileBytesOf(files, node);
          found[`${folder.replace(/\/$/, "")}/${path}`] = textIn(bytes) ?? bytes;
        }
      }
      return found;
    });
  }

  /** Writes files, even into folders that are read-only for the servlet. */
  write(contents: Readonly<Record<string, string | Uint8Array>>, whose: Whose): Promise<void> {
    return this.#withFiles(whose, async (files, state) => {
      for (const [path, content] of Object.entries(contents)) {
        const { root, path: own } = mountOf(files, path);
        const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
        putFile(files, root, own, bytes);
      }
      const keepsOpen = state.rows.hash === buildIdOf(this.#servlet);
      await state.store(
        async () => [],
        () => files.commit({ keepsOpen }),
      );
    });
  }

  #withFiles<T>(
    whose: Whose,
    work: (files: Files, state: ScopeState) => T | Promise<T>,
  ): Promise<T> {
    const { session } = whose;
    const scope = scopeOf(this.#servlet.manifest, { principal: principalOf(whose), session });
    return this.#inTurn(scope, async (state) => {
      const files = state.filesFor(this.#servlet, Date.now());
      if (files === undefined) throw new Error("The servlet has no folders (`allowed_paths`).");
      try {
        return await work(files, state);
      } finally {
        files.drop();
      }
    });
  }

  #inTurn<T>(scope: Scope, work: (state: ScopeState) => Promise<T>): Promise<T> {
    const name = JSON.stringify(scope);
    let kept = this.#kept.get(name);
    if (kept === undefined) {
      const key = crypto.getRandomValues(new Uint8Array(32));
      kept = { state: new ScopeState(this.#newStorage(), key), idle: Promise.resolve() };
      this.#kept.set(name, kept);
    }
    const { state, idle } = kept;
    const done = idle.then(() => work(state));
    kept.idle = done.catch(() => {});
    return done;
  }
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
