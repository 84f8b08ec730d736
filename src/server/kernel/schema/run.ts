import { limits } from "../core/limits.ts";
import type { SchemaResource } from "./references.ts";
import { StepsExceeded, type Steps } from "./steps.ts";
import { shortened } from "../core/text.ts";

/** Nesting depth of schemas during one check, references included: each level takes stack. */
const CHECK_DEPTH = 1500;
/** Characters of a quoted text in an issue. */
const ISSUE_CHARACTERS = 200;

/** One thing that is wrong with a value. */
export interface Issue {
  /** Names and indices from the root, including the name of a missing member. */
  path: readonly string[];
  /** Message for the sender, to follow the path. Quotes names and the schema, never the value. */
  message: string;
}

/** Checks a value against one schema, and records the issues in the run. */
export type Evaluate = (value: unknown, run: Run) => boolean;

type Key = string | number;

/** The state of checking one value: the current place, and the issues so far. */
export class Run {
  readonly steps: Steps;
  readonly issues: Issue[] = [];
  /** Evaluated names and indices, for `unevaluatedProperties` and `unevaluatedItems`. */
  marks: Key[] = [];
  /** The schema resources that the check has gone through, for `$dynamicRef`. */
  readonly scope: SchemaResource[] = [];
  /** True if a keyword depends on what other keywords have evaluated. */
  readonly isMarking: boolean;
  readonly #path: Key[] = [];
  #quiet = 0;
  #depth = 0;

  constructor(steps: Steps, isMarking: boolean) {
    this.steps = steps;
    this.isMarking = isMarking;
  }

  /** True if only the outcome counts, and issues are not recorded. */
  get isQuiet(): boolean {
    return this.#quiet > 0;
  }

  /** Records an issue of this value, or of one of its members. */
  fail(message: string, ...member: Key[]): false {
    if (this.#quiet > 0 || this.issues.length >= limits.checkIssues) return false;
    this.steps.take(this.#path.length);
    this.issues.push({
      path: [...this.#path, ...member].map((key) => brief(String(key))),
      message,
    });
    return false;
  }

  /** Checks a member or an item of this value, and marks it as evaluated. */
  evaluate(key: Key, evaluate: Evaluate, value: unknown): boolean {
    if (this.isMarking) this.marks.push(key);
    return this.at(key, evaluate, value);
  }

  /** Checks a member or an item of this value. */
  at(key: Key, evaluate: Evaluate, value: unknown): boolean {
    const { marks } = this;
    this.#path.push(key);
    if (this.isMarking) this.marks = [];
    const fits = evaluate(value, this);
    this.marks = marks;
    this.#path.pop();
    return fits;
  }

  /** Checks without recording issues. */
  quietly<T>(check: () => T): T {
    this.#quiet++;
    const found = check();
    this.#quiet--;
    return found;
  }

  /** Enters a nested schema; `leave` ends it. Throws `StepsExceeded` if schemas are nested too deeply. */
  enter(steps: number): void {
    this.steps.take(steps);
    if (++this.#depth > CHECK_DEPTH) {
      throw new StepsExceeded(`leads through more than ${CHECK_DEPTH} schemas, one in another`);
    }
  }

  leave(): void {
    this.#depth--;
  }
}

/** A text for a message, shortened. */
export const brief = (text: string): string => shortened(text, ISSUE_CHARACTERS);
