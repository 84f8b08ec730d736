import { limits } from "../core/limits.ts";
import {
  BOUNDARY,
  END,
  parse,
  PatternError,
  START,
  type Fits,
  type Node,
} from "./pattern-syntax.ts";
import { Steps } from "./steps.ts";

/** States of one pattern, with repetitions expanded. */
const PATTERN_SIZE = 10_000;
/** Steps charged for a state of a pattern that is visited for the first time. */
const PATTERN_STATE_STEPS = 4;
/** Numbers that patterns cache in one isolate to avoid visiting states again: some 20 MB. */
const PATTERN_STATE_NUMBERS = 500_000;

/** A text that is being matched, with the facts that lookarounds have found at its positions. */
interface Subject {
  text: string;
  isUnicode: boolean;
  usesBoundaries: boolean;
  lookarounds: Uint32Array | undefined;
  steps: Steps;
}

/**
 * A regular expression of ECMA-262, matched in time linear in the text.
 *
 * Written by hand although re2js exists: JSON Schema's patterns are ECMA-262, and RE2 has no lookahead,
 * which zod's pattern for e-mail addresses needs. It also must count its steps.
 */
export class Pattern {
  readonly #isUnicode: boolean;
  readonly #usesBoundaries: boolean;
  readonly #whole: Automaton;
  /** Inner lookarounds before those that contain them. */
  readonly #lookarounds: readonly { automaton: Automaton; fact: number; isBehind: boolean }[];

  /**
   * Without the flag `u`, patterns that are valid only without it are accepted too.
   * Throws a `PatternError` if the source is not valid or cannot be matched in linear time.
   */
  constructor(source: string, flags: "u" | "" = "u") {
    const { root, lookarounds, usesBoundaries } = parse(source, flags);
    this.#isUnicode = flags === "u";
    this.#usesBoundaries = usesBoundaries;
    this.#whole = new Automaton(root, false);
    this.#lookarounds = lookarounds.map(({ root: inner, fact, isBehind }) => ({
      // A lookahead is matched from the end of the text backwards.
      automaton: new Automaton(inner, !isBehind),
      fact,
      isBehind,
    }));
  }

  /** The number of its instructions, each of which may run once per character. */
  get size(): number {
    return this.#lookarounds.reduce((sum, { automaton }) => sum + automaton.size, this.#whole.size);
  }

  /** Returns true if some part of the text matches. Throws `StepsExceeded`. */
  test(text: string, steps = new Steps(limits.checkSteps)): boolean {
    const isMarked = this.#lookarounds.length > 0;
    if (isMarked) steps.take(text.length);
    const subject: Subject = {
      text,
      isUnicode: this.#isUnicode,
      usesBoundaries: this.#usesBoundaries,
      lookarounds: isMarked ? new Uint32Array(text.length + 1) : undefined,
      steps,
    };
    for (const { automaton, fact, isBehind } of this.#lookarounds) {
      automaton.scan(subject, !isBehind, (at) => {
        subject.lookarounds![at]! |= fact;
        return false;
      });
    }
    return this.#whole.scan(subject, false, () => true);
  }
}

type Instruction =
  | { kind: "character"; fits: Fits; next: number }
  | { kind: "assertion"; fact: number; isNegated: boolean; next: number }
  | { kind: "split"; to: number[] }
  | { kind: "match" };

/** A set of instructions that wait for the next character. */
interface State {
  waiting: readonly number[];
  /** By facts and character: the next state, and whether something has matched before that character. */
  edges: Map<number, Edge>;
}

interface Edge {
  to: State;
  isMatch: boolean;
}

/** Exceeds the number of code points: facts and a character are encoded as one number. */
const CHARACTERS = 0x11_0001;
const NO_CHARACTER = CHARACTERS - 1;

/**
 * Thompson's construction, whose instruction sets are cached as states of a deterministic automaton:
 * https://swtch.com/~rsc/regexp/regexp1.html
 */
class Automaton {
  /** Automata with cached states, and how many numbers these hold in this isolate. */
  static readonly #remembering = new Set<Automaton>();
  static #remembered = 0;

  readonly #program: Instruction[] = [{ kind: "match" }];
  readonly #entry: number;
  readonly #states = new Map<string, State>();

  constructor(root: Node, isReversed: boolean) {
    this.#entry = this.#emit(root, 0, isReversed);
  }

  get size(): number {
    return this.#program.length;
  }

  /** Calls `onMatch` with each position at which a match ends, until it returns true. */
  scan(subject: Subject, isBackward: boolean, onMatch: (at: number) => boolean): boolean {
    const { text, isUnicode, steps } = subject;
    const last = isBackward ? 0 : text.length;
    let state = this.#state([]);
    for (let at = text.length - last; ;) {
      steps.take(1);
      const character = at === last ? NO_CHARACTER : characterAt(text, at, isBackward, isUnicode);
      const facts = factsAt(subject, at);
      const key = facts * CHARACTERS + character;
      const edge = state.edges.get(key) ?? this.#follow(state, facts, character, steps);
      if (edge.isMatch && onMatch(at)) return true;
      if (at === last) return false;
      state = edge.to;
      const width = character > 0xff_ff ? 2 : 1;
      at += isBackward ? -width : width;
    }
  }

  /** Computes the edge of a character that is new in this state. */
  #follow(state: State, facts: number, character: number, steps: Steps): Edge {
    const seen = new Set([...state.waiting, this.#entry]);
    const waiting = new Set<number>();
    let isMatch = false;
    for (const at of seen) {
      // A set is iterated in order, including elements added meanwhile.
      const one = this.#program[at]!;
      if (one.kind === "match") isMatch = true;
      else if (one.kind === "split") for (const to of one.to) seen.add(to);
      else if (one.kind === "assertion") {
        if (((facts & one.fact) === 0) === one.isNegated) seen.add(one.next);
      } else if (character !== NO_CHARACTER && one.fits(character)) waiting.add(one.next);
    }
    steps.take(seen.size * PATTERN_STATE_STEPS);
    this.#remember(4);
    const edge = { to: this.#state([...waiting].toSorted((a, b) => a - b)), isMatch };
    state.edges.set(facts * CHARACTERS + character, edge);
    return edge;
  }

  #state(waiting: readonly number[]): State {
    const key = waiting.join();
    let state = this.#states.get(key);
    if (state === undefined) {
      this.#remember(waiting.length + 4);
      state = { waiting, edges: new Map() };
      this.#states.set(key, state);
    }
    return state;
  }

  #remember(count: number): void {
    Automaton.#remembered += count;
    if (Automaton.#remembered > PATTERN_STATE_NUMBERS) {
      for (const one of Automaton.#remembering) one.#states.clear();
      Automaton.#remembering.clear();
      Automaton.#remembered = count;
    }
    Automaton.#remembering.add(this);
  }

  /** Appends the instructions of a node, which continue with `next`. Returns the first one. */
  #emit(node: Node, next: number, isReversed: boolean): number {
    switch (node.kind) {
      case "character":
      case "assertion":
        return this.#add({ ...node, next });
      case "sequence": {
        const parts = isReversed ? node.parts : node.parts.toReversed();
        return parts.reduce((entry, part) => this.#emit(part, entry, isReversed), next);
      }
      case "choice":
        return this.#add({
          kind: "split",
          to: node.parts.map((part) => this.#emit(part, next, isReversed)),
        });
      case "repeat":
        return this.#emitRepeat(node, next, isReversed);
    }
  }

  #emitRepeat(node: Node & { kind: "repeat" }, next: number, isReversed: boolean): number {
    const { part, min, max } = node;
    let entry = next;
    if (max === Infinity) {
      const loop: Instruction = { kind: "split", to: [next] };
      entry = this.#add(loop);
      loop.to.push(this.#emit(part, entry, isReversed));
    }
    for (let count = max === Infinity ? min : max; count > 0; count--) {
      const before = this.#emit(part, entry, isReversed);
      if (before === entry) break; // The part is empty.
      entry = count > min ? this.#add({ kind: "split", to: [before, next] }) : before;
    }
    return entry;
  }

  #add(instruction: Instruction): number {
    if (this.#program.length >= PATTERN_SIZE) {
      throw new PatternError(`needs more than ${PATTERN_SIZE} states: repeat less often`);
    }
    return this.#program.push(instruction) - 1;
  }
}

function characterAt(text: string, at: number, isBackward: boolean, isUnicode: boolean): number {
  if (!isBackward) return isUnicode ? text.codePointAt(at)! : text.charCodeAt(at);
  const whole = isUnicode && at > 1 ? text.codePointAt(at - 2)! : 0;
  return whole > 0xff_ff ? whole : text.charCodeAt(at - 1);
}

function factsAt({ text, usesBoundaries, lookarounds }: Subject, at: number): number {
  let facts = lookarounds === undefined ? 0 : lookarounds[at]!;
  if (at === 0) facts |= START;
  if (at === text.length) facts |= END;
  if (usesBoundaries && isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))) {
    facts |= BOUNDARY;
  }
  return facts;
}

/** Returns true for A-Z, a-z, 0-9 and _; false for NaN, which is beyond an end of the text. */
const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95;
