import { describe, expect, test } from "vitest";
import { ANONYMOUS } from "../../../src/server/kernel/core/model.ts";
import { StoredFiles } from "../../../src/server/features/transfers/stored-files.ts";
import "../../../src/server/features/transfers/limits.ts";

const LOST = new Error("Network connection lost.");
const PART = { start: 0, length: 3 };

/** Files whose object answers so, each time by a stub of its own; the keys that are deleted from their bucket. */
function filesOf(answers: (stub: number) => object) {
  const deleted: string[] = [];
  let stubs = 0;
  const bucket = {
    put: async (_key: string, body: ReadableStream) => void (await new Response(body).bytes()),
    delete: async (key: string) => void deleted.push(key),
  };
  const files = new StoredFiles({
    objects: { getByName: () => answers(++stubs) },
    tokens: { placeOf: async () => "place", placeIn: async () => "place" },
    bucket,
    countStored: async () => {},
  } as never);
  return { files, deleted };
}

const send = ({ files }: ReturnType<typeof filesOf>) =>
  files.receive("token", PART, { body: new Response("abc").body });

const admit = async () => ({ value: { ...PART, id: "id", arrival: "arrival", key: "key" } });

const endArrival = async () => {};

describe("an object that dies", () => {
  test("is asked again by another stub, as its own is of no more use", async () => {
    const { files } = filesOf((stub) => ({
      stateOf: async () => {
        if (stub === 1) throw LOST;
        return "whole";
      },
    }));
    expect(await files.isWhole(ANONYMOUS, "id")).toBe(true);
  });

  test("as it records a part leaves its bytes in the bucket: it may have recorded them", async () => {
    const some = filesOf(() => ({ admit, endArrival, arrived: () => Promise.reject(LOST) }));
    await expect(send(some)).rejects.toThrow(/GET this URL to learn how many bytes have arrived/);
    expect(some.deleted).toEqual([]);
  });
});

test("the bytes of a part that is refused are deleted from the bucket", async () => {
  const refused = { code: "conflict", message: "Another part has taken the place of this one." };
  const some = filesOf(() => ({ admit, endArrival, arrived: async () => refused }));
  await expect(send(some)).rejects.toThrow("Another part");
  expect(some.deleted).toEqual(["key"]);
});

test("a file that is deleted while it is read is not read as zeros", async () => {
  const { files } = filesOf(() => ({ file: async () => ({ size: 3 }), pieces: async () => [] }));
  await expect(files.read(ANONYMOUS, "id", PART)).rejects.toThrow(
    "The bytes of this file are gone",
  );
});
