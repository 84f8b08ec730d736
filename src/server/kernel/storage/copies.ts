import { isRecent } from "../core/recent.ts";
import { runsOf } from "../settings/env.ts";

/**
 * Number of objects that share the work of one. An object serves some hundred requests a second, and a deployed server
 * may have thousands of isolates. Isolates ask copies of an object, and the state of all callers is divided among
 * several.
 */
const COPIES = 32;

/** The names of the objects that share the work of this one. A self-hosted server has only the object itself. */
export const copiesOf = (name: string, env: object): string[] =>
  runsOf(env) === undefined ? Array.from({ length: COPIES }, (_, nth) => `${name} ${nth}`) : [name];

/** The name of the copy that is responsible for this key. */
export function copyFor(name: string, key: string, env: object): string {
  let hash = 0;
  for (const character of key) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0;
  const names = copiesOf(name, env);
  return names[hash % names.length]!;
}

/** Returns a function that returns this isolate's copy, always the same. */
export function nearestCopy<T extends Rpc.DurableObjectBranded>(
  objects: DurableObjectNamespace<T>,
  name: string,
  env: object,
): () => DurableObjectStub<T> {
  let copy: string | undefined;
  // Chosen late: a Worker has no random numbers while it starts.
  return () => objects.getByName((copy ??= copyFor(name, crypto.randomUUID(), env)));
}

/** The name of the object that this is a copy of; undefined if it is no copy. */
export const originalOf = (name = ""): string | undefined => /^(.*) \d+$/.exec(name)?.[1];

/** An original's answer as cached by a copy, which asks again at most every `ms()`. */
export class KnownAnswer<T extends object> {
  readonly #ask: () => Promise<T>;
  readonly #ms: () => number;
  #answer: Promise<T> | undefined;
  #at = 0;

  constructor(ask: () => Promise<T>, ms: () => number) {
    this.#ask = ask;
    this.#ms = ms;
  }

  get(): Promise<T> {
    if (this.#answer !== undefined && isRecent(this.#at, this.#ms())) return this.#answer;
    this.#at = Date.now();
    const answer = this.#ask().then(withoutDisposer);
    this.#answer = answer;
    answer.catch(() => {
      if (this.#answer === answer) this.#answer = undefined;
    });
    return answer;
  }
}

/** A result of RPC without its disposer, for which the next object would get a stub that must be disposed of. Not for arrays. */
function withoutDisposer<T extends object>(result: T): T {
  const { [Symbol.dispose as keyof T]: _, ...members } = result;
  return members as T;
}
