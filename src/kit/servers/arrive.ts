/**
 * Runs the modules of a server that was written for another SDK, and answers calls by the server that they make. They run when
 * the servlet is built, and the server is part of its image; but if they depend on values that are unknown then, they run in
 * a call.
 */
import { misuseAtBuild, type ServletEntry, running, thrownText } from "../host.ts";
import { random } from "../random.ts";
import { entryOf } from "../run.ts";
import type { Opened } from "./start.ts";

declare global {
  /** Set by the servlet's script: see `start.ts`. */
  var __open: (() => Promise<Opened>) | undefined;
}

/** Results of the bundle step for a servlet whose modules run in a call. */
export interface Learnt {
  exports: readonly string[];
  /** The outputs of list exports, by export. */
  lists: Readonly<Record<string, string>>;
  manifest: ServletEntry["manifest"];
}

/** The export that only runs the modules. */
const ENVIRONMENT = "edge_environment";

/** Exports whose output the bundle step records. */
const LISTS = ["list_tools", "list_resources", "list_resource_templates", "list_prompts"];

type Entry = ReturnType<typeof entryOf>;

/** The start of a servlet: runs its modules, and waits also for work that they do not await. */
class Opening {
  opened: Opened | undefined;
  failure: { error: unknown } | undefined;
  /** Continues the start once no job is left. */
  #wake: (() => void) | undefined;
  #hasRun = false;
  readonly #rejected = new Map<object, unknown>();

  /** `learn` is called with the opened servlet, before the start ends. */
  constructor(evaluate: () => Promise<void>, learn?: (opened: Opened) => Promise<void>) {
    this.#open(evaluate, learn).then(
      (opened) => (this.opened = opened),
      (error: unknown) => (this.failure = { error }),
    );
  }

  async #open(
    evaluate: () => Promise<void>,
    learn?: (opened: Opened) => Promise<void>,
  ): Promise<Opened> {
    await evaluate();
    await new Promise<void>((resolve) => (this.#wake = resolve));
    const open = globalThis.__open!;
    globalThis.__open = undefined;
    const opened = await open();
    await learn?.(opened);
    return opened;
  }

  /** To be called once at first, and then whenever no job is left; false once the start has ended. */
  goOn(): boolean {
    if (!this.#hasRun) return (this.#hasRun = true);
    if (this.opened !== undefined || this.failure !== undefined) return false;
    if (this.#wake === undefined) {
      const error = new Error(
        "Module scope, or a list, awaits what never comes: only handlers may wait for the network or for time.",
      );
      this.failure = { error };
      return false;
    }
    this.#wake();
    this.#wake = undefined;
    return true;
  }

  rejection(promise: object, reason: unknown, handled: boolean): void {
    if (handled) this.#rejected.delete(promise);
    else this.#rejected.set(promise, reason);
  }

  /** The failure, with all unhandled rejections, as text. */
  get why(): string {
    return [this.failure?.error, ...this.#rejected.values()].map(thrownText).join("\n");
  }
}

/** Makes the servlet of a script. Its modules run now or, if `learnt` is given, in a call. */
export function arrive(evaluate: () => Promise<void>, isLearning: boolean, learnt?: Learnt): void {
  Math.random = random;
  const entry = learnt === undefined ? now(evaluate, isLearning) : later(evaluate, learnt);
  globalThis.__servlet = { ...entry, misuse: misuseAtBuild };
}

type Arriving = Omit<ServletEntry, "misuse">;

/** A servlet whose modules run at build time; if `isLearning`, its description contains its lists. */
function now(evaluate: () => Promise<void>, isLearning: boolean): Arriving {
  const lists: Record<string, string> = {};
  const opening = new Opening(evaluate, async ({ answers }) => {
    for (const name of LISTS) {
      if (isLearning && name in answers) lists[name] = String(await answers[name]!({}));
    }
  });
  return {
    exports: [],
    manifest: {},
    begin() {},
    turn: () => 1,
    rejection: (promise, reason, handled) => opening.rejection(promise, reason, handled),
    loaded() {
      if (opening.goOn()) return 2;
      const { opened } = opening;
      if (opened === undefined) throw opening.why;
      const { answers, read, instructions } = opened;
      const entry = entryOf(answers);
      const manifest = { views: {}, tools: {}, ...(instructions && { instructions }) };
      globalThis.__servlet = { ...entry, misuse: misuseAtBuild, manifest };
      __host.output(JSON.stringify({ exports: entry.exports, manifest, lists, read }));
      return 0;
    },
  };
}

/** A servlet whose modules run in an instance's first call, and again in a call after a value has changed. */
function later(
  evaluate: () => Promise<void>,
  { exports: learnt, lists, manifest }: Learnt,
): Arriving {
  const exports = [...learnt, ENVIRONMENT];
  /** True in an image that was made for the current values: they do not change in it. */
  let isImage = false;
  let opening: Opening | undefined;
  let entry: Entry | undefined;
  let asked = "";
  let output: string | undefined;
  return {
    exports,
    manifest,
    begin(name) {
      asked = name;
      output = Object.hasOwn(lists, name) ? lists[name] : undefined;
      if (output !== undefined) return;
      if (!isImage && opening?.opened?.hasChanged() === true) opening = entry = undefined;
      if (entry !== undefined) return entry.begin(name);
      running.call = false;
      opening = new Opening(evaluate);
    },
    turn() {
      if (output !== undefined) {
        __host.output(output);
        return 0;
      }
      if (entry !== undefined) return entry.turn();
      if (opening!.goOn()) return 2;
      const { opened } = opening!;
      if (opened === undefined) {
        // What is thrown may have a secret in it, which callers must not see.
        __host.log(4, `Module scope failed: ${opening!.why}`);
        __host.fail("The servlet could not start: the server's log says why.");
        opening = undefined;
        return 1;
      }
      entry = entryOf(opened.answers);
      if (asked === ENVIRONMENT) {
        isImage = true;
        return 0;
      }
      entry.begin(asked);
      return 2;
    },
    rejection: (promise, reason, handled) =>
      (entry ?? opening)?.rejection(promise, reason, handled),
    loaded() {
      __host.output(JSON.stringify({ exports, manifest }));
      return 0;
    },
  };
}
