import { afterEach, beforeEach } from "vitest";
import { configureLimits } from "../../src/server/kernel/core/limits.ts";
import { unreadOf, type unstored } from "../../src/server/kernel/http/unread.ts";
import { eventually } from "./waiting.ts";

/** Has each test of a file end once what it left unread is gone. */
export function roomForUnread(): void {
  let left = 0;
  beforeEach(() => {
    left = unreadOf();
  });
  // An object hears a little later that its client has gone: a test would begin with the room of the one before.
  afterEach(() =>
    eventually(() => {
      if (unreadOf() > left + 10_000) throw new Error(`${unreadOf()} bytes are unread still`);
    }),
  );
}

/** Limits the unread bytes, or those of another ledger, to so many besides those that other files have left. */
export const limitTo = (bytes: number, ledger?: typeof unstored) =>
  configureLimits({ unreadBytes: bytes + unreadOf(undefined, ledger) });
