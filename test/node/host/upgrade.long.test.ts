import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { unpackTar } from "modern-tar/fs";
import { expect, onTestFinished, test } from "vitest";
import { build, host, project } from "./hosting.ts";

/**
 * What version 0.1.0 has stored: the journal of the caller ada (`write_journal`), and the key that sealed it. Other
 * objects are left out, as they expire.
 */
const STORED = "test/node/host/storage-0.1.0.tgz";
const KEY = "esk_upgrade";

test("what the version before has stored is read, and added to", async () => {
  const folder = await project(resolve("src/index.ts"));
  await build(folder);
  const objects = join(folder, ".edge-servlets/objects");
  await pipeline(createReadStream(STORED), createGunzip(), unpackTar(objects));
  const hash = createHash("sha256").update(KEY).digest("hex");
  const hosting = await host(folder, { variables: { API_KEYS: JSON.stringify({ ada: hash }) } });
  onTestFinished(() => hosting.end());
  const call = async (name: string, args: object): Promise<string> => {
    const response = await fetch(hosting.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${KEY}`,
        "content-type": "application/json",
        accept: "application/json",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name, arguments: args },
      }),
    });
    return response.text();
  };
  expect(await call("search_journal", { query: "bridge" })).toContain(
    "The bridge was painted by version 0.1.0",
  );
  expect(await call("write_journal", { text: "And again" })).toContain("Entry 2");
  expect(await call("read_journal", { from: 1 })).toMatch(
    /painted by version 0\.1\.0[^]*And again/,
  );
});
