import type { Guest } from "./guest.ts";

/**
 * A function that a guest imports: it is given the guest, then what the guest passed (i64 as bigint).
 * An `async` one suspends the guest until it settles.
 */
export type HostFunction = (guest: Guest, ...args: never[]) => unknown;
export type HostFunctions = Readonly<Record<string, HostFunction>>;
