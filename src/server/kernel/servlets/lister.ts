import { isRecent } from "../core/recent.ts";
import { Fault } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Lists } from "../core/model.ts";
import type { PreparedServlet } from "./bundle.ts";
import type { Deployment, Viewer } from "./deployment.ts";
import { runnerFor } from "./runners.ts";
import {
  NO_ENTRIES,
  describeFailure,
  listAll,
  type CollectedLists,
  type Servlet,
} from "./servlet.ts";

/** The lists of one servlet, by its own names. */
export interface ServletLists {
  servlet: PreparedServlet;
  lists: Lists;
  /** Why some lists are missing, as text that follows the servlet's name. */
  failures: readonly string[];
  /** The fault for which the servlet could not be asked; the lists are then empty. */
  fault?: Fault;
}

/** Reads servlets' lists, and caches those that all callers share. */
export class Lister {
  readonly #deployment: Deployment;
  readonly #servletOf: (prepared: PreparedServlet) => Servlet;
  readonly #dynamic = new Map<PreparedServlet, { listed: ServletLists; at: number }>();

  constructor(deployment: Deployment, servletOf: (prepared: PreparedServlet) => Servlet) {
    this.#deployment = deployment;
    this.#servletOf = servletOf;
  }

  /** True for a servlet whose lists depend on the caller's state. */
  isStateful(servlet: PreparedServlet): boolean {
    return servlet.lists === undefined && runnerFor(servlet, this.#deployment)?.lists !== undefined;
  }

  /**
   * The shared lists of a servlet, and when they were read (Unix ms). Dynamic lists are read without a principal, and
   * again after `limits.dynamicListMs`.
   */
  async shared(servlet: PreparedServlet): Promise<{ listed: ServletLists; at: number }> {
    const { lists } = servlet;
    if (lists !== undefined) return { listed: { servlet, lists, failures: [] }, at: Infinity };
    const known = this.#dynamic.get(servlet);
    if (known !== undefined && isRecent(known.at, limits.dynamicListMs)) return known;
    // The promise is not cached: in Workers one request cannot wait for I/O of another.
    const listed = await this.#ask(servlet, () => listAll(this.#servletOf(servlet)));
    const asked = { listed, at: Date.now() };
    this.#dynamic.set(servlet, asked);
    return asked;
  }

  /** The lists of a stateful servlet in the state of this caller. */
  seenBy(servlet: PreparedServlet, viewer: Viewer): Promise<ServletLists> {
    return this.#ask(servlet, () => runnerFor(servlet, this.#deployment)!.lists!(servlet, viewer));
  }

  async #ask(servlet: PreparedServlet, ask: () => Promise<CollectedLists>): Promise<ServletLists> {
    const { log } = this.#deployment;
    try {
      const { lists, failures } = await ask();
      const texts = failures.map(describeFailure);
      for (const text of texts) log(servlet.name, "error", text);
      return { servlet, lists, failures: texts };
    } catch (error) {
      const fault = Fault.from(error);
      const text = `has no lists, as it could not be asked: ${fault.message}`;
      log(servlet.name, "error", text);
      return { servlet, lists: NO_ENTRIES, failures: [text], fault };
    }
  }
}
