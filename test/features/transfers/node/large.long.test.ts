import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { committedOf } from "../../../node/bench/large-argument.ts";
import { freePort } from "../../../node/workerd.ts";
import { once } from "../../../../src/server/kernel/core/once.ts";
import { called } from "../../../node/http/called.ts";
import { serving } from "../../../node/http/serving.ts";

/** Large files on workerd itself, with their bytes in a bucket: how much memory they take. */

const MB = 1024 * 1024;
/** In verify a part of what was measured once with 1 GB: `TRANSFER_MB=1024`. */
const SIZE = Number(process.env["TRANSFER_MB"] ?? 256) * MB;
const PART = Math.min(90 * MB, SIZE / 4);

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const inspector = await freePort();
const { url } = await serving({
  inspector,
  buckets: ["TRANSFERS_BUCKET"],
  variables: {
    TEST_SERVLETS: "transferring",
    API_KEYS: JSON.stringify({ ada: hashOf("ada"), bob: hashOf("bob") }),
  },
});

async function call(name: string, args: object, key = "ada"): Promise<any> {
  const result = await called(url, key, { name, args });
  if (result.isError) throw new Error(JSON.stringify(result));
  return result;
}

/** So many bytes, of which each megabyte is another. */
async function* bytesOf(start: number, length: number) {
  const piece = new Uint8Array(MB / 4);
  for (let at = start; at < start + length; at += piece.length) {
    piece.fill((at / piece.length) % 251);
    yield piece.slice(0, Math.min(piece.length, start + length - at));
  }
}

async function upload(size: number, key = "ada"): Promise<string> {
  const { structuredContent } = await call("upload_file", { name: "large.bin", size }, key);
  const { file, transfer } = structuredContent;
  for (let start = 0; start < size; start += PART) {
    const length = Math.min(PART, size - start);
    const response = await fetch(transfer.url, {
      method: "PUT",
      body: bytesOf(start, length) as never,
      headers: { "content-range": `bytes ${start}-${start + length - 1}/${size}` },
      duplex: "half",
    } as RequestInit);
    if (response.status > 202) throw new Error(await response.text());
    await response.text();
  }
  return file.uri;
}

const committed = once(() => committedOf(inspector));

/** What the Worker's isolate has taken when something has happened, with its garbage, beyond what it had before, in MB. */
async function memoryOf(work: () => Promise<void>): Promise<number> {
  const measure = await committed();
  const before = await measure();
  await work();
  return ((await measure()) - before) / MB;
}

test("a large file goes in by parts and out by a link, and little of it is in memory", async () => {
  await upload(8 * MB);
  let uri = "";
  const into = await memoryOf(async () => {
    uri = await upload(SIZE);
  });
  const { content } = await call("link_file", { data: uri });
  let length = 0;
  const [expected, found] = [createHash("sha256"), createHash("sha256")];
  for await (const piece of bytesOf(0, SIZE)) expected.update(piece);
  const out = await memoryOf(async () => {
    const response = await fetch(content[0].uri);
    for await (const piece of response.body!) {
      length += piece.length;
      found.update(piece);
    }
  });
  expect(length).toBe(SIZE);
  expect(found.digest("hex")).toBe(expected.digest("hex"));
  const { content: shown } = await call("read_stored_file", { file: uri, offset: SIZE - 3 });
  const last = ((SIZE / MB) * 4 - 1) % 251;
  expect([...Buffer.from(shown[0].resource.blob, "base64")]).toEqual([last, last, last]);
  if (process.env["TRANSFER_MB"]) console.warn({ into, out });
  expect(Math.max(into, out)).toBeLessThan(64);
}, 600_000);

test("twenty files at once arrive, and others are served meanwhile", async () => {
  let answered = 0;
  const over = new AbortController();
  const others = async () => {
    while (!over.signal.aborted) {
      await call("say_words", { length: 10 }, "bob");
      answered++;
    }
  };
  const waiting = others();
  const memory = await memoryOf(async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => upload(SIZE / 16)));
    expect(new Set(all).size).toBe(20);
  });
  over.abort();
  await waiting;
  if (process.env["TRANSFER_MB"]) console.warn({ twenty: memory, answered });
  expect(answered).toBeGreaterThan(0);
}, 600_000);
