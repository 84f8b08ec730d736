import type { Guest } from "./guest.ts";

/**
 * A function that a guest imports: it gets the guest, then the guest's arguments (i64 as bigint). An `async` function
 * suspends the guest until it settles.
 */
export type HostFunction = (guest: Guest, ...args: never[]) => unknown;
export type HostFunctions = Readonly<Record<string, HostFunction>>;
