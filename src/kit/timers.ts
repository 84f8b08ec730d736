import { hostFor, running, thrownText } from "./host.ts";

/** A callback that waits for its time. */
interface Timer {
  /** In ms since 1970. */
  at: number;
  /** Interval of repetition, in ms; undefined for a timer that runs once. */
  every: number | undefined;
  run: () => void;
  /** The function that set the timer, with its stack; undefined for the kit's own timers. */
  from: string | undefined;
}

const timers = new Map<number, Timer>();
let lastId = 0;
let clock = 0;

/** The time in ms: not before the end of the latest sleep, even if the interpreter's clock stands still. */
const now = (): number => (clock = Math.max(clock, Date.now()));

export function clearTimers(): void {
  timers.clear();
  clock = 0;
}

/** The origins (`from`) of the waiting timers. */
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

/** Waits for the next timer and runs it; false if there is none. */
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
