import type { Bucket } from "./bucket.ts";
import type { SimulatedObject } from "./object.ts";
import type { Against } from "./rules.ts";

/** Files whose count of bytes is not that of their pieces, each of which begins where another one ends. */
const WRONG = `SELECT id, size, received, (SELECT IFNULL(SUM(length), 0) FROM file_pieces WHERE id = stored_files.id) AS stored
  FROM stored_files WHERE received <> stored OR received > size OR (isWhole AND received <> size)`;
const TORN = `SELECT id, start FROM file_pieces AS one WHERE start > 0
  AND NOT EXISTS (SELECT 1 FROM file_pieces WHERE id = one.id AND start + length = one.start)`;
const LOOSE = "SELECT id FROM file_pieces WHERE id NOT IN (SELECT id FROM stored_files)";

/** Judges the files that are stored: what is counted of a caller's room is there. */
export function judgeStored(
  objects: readonly SimulatedObject[],
  { bucket, against }: { bucket: Bucket | undefined; against: Against },
): void {
  for (const { kind, name, storage } of objects) {
    if (kind !== "Transfers" || !storage.has("stored_files")) continue;
    for (const query of [WRONG, TORN, LOOSE]) {
      const row = storage.peek(query);
      if (row !== undefined) against("stored as counted", `${name}: ${JSON.stringify(row)}`);
    }
    if (bucket === undefined) continue;
    const keys = storage.peek(
      "SELECT json_group_array(key) AS keys FROM file_pieces WHERE key > ''",
    );
    for (const key of JSON.parse(String(keys?.["keys"])) as string[])
      if (!bucket.stored.has(key)) against("stored as counted", `${name} has no ${key}`);
  }
}
