import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { keyRecordsOf } from "../../../src/server/kernel/auth/key-records.ts";
import { Fault, httpStatus, retryAfterOf } from "../../../src/server/kernel/core/errors.ts";
import { storageRoom } from "../../../src/server/kernel/core/storage-room.ts";

/** Errors of objects that find no room, and what an isolate does while its host says that the disk is full. */

afterEach(() => {
  storageRoom.isFull = false;
});

const FULL = new Error("database or disk is full: SQLITE_FULL");
const HIDDEN = new Error("internal error; reference = 872gormd224g2e7rfqa6jnfo");

test("SQLite's own error means that the storage is full, on any host", () => {
  const fault = Fault.from(FULL);
  expect([fault.code, httpStatus(fault), retryAfterOf(fault)]).toEqual(["storage_full", 503, "30"]);
});

test("an error whose reason workerd hides means so only while the disk is known to be full", () => {
  expect(Fault.from(HIDDEN).code).toBe("internal");
  storageRoom.isFull = true;
  expect(Fault.from(HIDDEN).code).toBe("storage_full");
});

test.each([
  new Error('The servlet said "database or disk is full: SQLITE_FULL" today'),
  new TypeError("x is not a function"),
  "database or disk is full: SQLITE_FULL",
])("other errors stay internal on a full disk: %s", (error) => {
  storageRoom.isFull = true;
  expect(Fault.from(error).code).toBe("internal");
});

test("on a full disk, revoked keys are read, and the time of a key's use is not written", async () => {
  const records = keyRecordsOf(env)!();
  await records.revoke("cd".repeat(32), "ada");
  storageRoom.isFull = true;
  expect((await records.used({ ["ab".repeat(32)]: 1 })).revoked).toContain("cd".repeat(32));
  storageRoom.isFull = false;
  const all = await records.all();
  expect(all.map(({ key }) => key)).not.toContain("ab".repeat(32));
});
