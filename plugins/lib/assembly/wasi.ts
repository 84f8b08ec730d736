// Time, by way of WASI preview 1.
import { clock_time_get, poll_oneoff } from "./host";

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;

/** Milliseconds since 1970, UTC. */
export function now(): i64 {
  const time = memory.data(8);
  clock_time_get(REALTIME, 1_000_000, time);
  return load<i64>(time) / 1_000_000;
}

/** Waits. The instance is suspended meanwhile, and costs no processor time. */
export function sleep(milliseconds: i64): void {
  // One subscription to a clock: userdata u64, tag u8 (0) @8, clock u32 @16, timeout u64 (ns) @24,
  // precision u64 @32, flags u16 (0: relative) @40. An event has 32 bytes.
  const subscription = memory.data(48);
  store<u32>(subscription, MONOTONIC, 16);
  store<i64>(subscription, milliseconds * 1_000_000, 24);
  poll_oneoff(subscription, memory.data(32), 1, memory.data(4));
}
