import { hostFor, running, thrownText } from "./host.ts";

/** One callback that waits for its time, in ms since 1970. */
interface Timer {
  at: number;
  /** Repeats after this many ms. */
  every: number | undefined;
  run: () => void;
  /** The call that has set it, with its stack; absent for the kit's own. */
  from: string | undefined;
}

const timers = new Map<number, Timer>();
let lastId = 0;
let clock = 0;

/** The time: not before the end of the newest sleep, even where the interpreter's clock stands still. */
const now = (): number => (clock = Math.max(clock, Date.now()));

export function clearTimers(): void {
  timers.clear();
  clock = 0;
}

/** The calls that have set the timers which still wait. */
export const leftTimers = (): string[] =>
  [...timers.values()].flatMap(({ from }) => (from === undefined ? [] : [from]));

export function addTimer(run: () => void, ms: number, repeat: boolean, from?: string): number {
  hostFor("A timer");
  running.hasWaited = true;
  const wait = ms > 0 && ms < Infinity ? Math.floor(ms) : 0;
  const every = repeat ? Math.max(wait, 1) : undefined;
  timers.set(++lastId, { at: now() + wait, every, run, from });
  return lastId;
}

export function removeTimer(id: unknown): void {
  timers.delete(Number(id));
}

/** Waits for the timer that comes first, and runs it. False where there is none. */
export function runTimer(): boolean {
  let next: [number, Timer] | undefined;
  for (const entry of timers) if (!next || entry[1].at < next[1].at) next = entry;
  if (!next) return false;
  const [id, timer] = next;
  const wait = timer.at - now();
  if (wait > 0) {
    hostFor("A timer").sleep(wait);
    clock = timer.at;
  }
  if (timer.every === undefined) timers.delete(id);
  else timer.at = now() + timer.every;
  try {
    timer.run();
  } catch (error) {
    __host.log(4, `A timer's callback failed: ${thrownText(error)}`);
  }
  return true;
}
