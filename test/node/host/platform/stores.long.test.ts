import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { buildWorker } from "../../../../src/tools/host/build.ts";
import { modulesIn } from "../../../../src/tools/host/modules.ts";
import { storeService } from "../../../../src/tools/host/stores.ts";
import {
  configText,
  folderService,
  workerService,
} from "../../../../src/tools/host/workerd-config.ts";
import { startWorkerd, type Workerd } from "../../../../src/tools/host/workerd.ts";

/** What stands in for KV and R2 gives what wrangler's simulators of them give, operation by operation. */
const DATE = "2026-09-01";
const MAIN = resolve("test/worker/stores.ts");
const PLATFORM = resolve("src/tools/host/platform");

let folder: string;
let ours: Workerd;
let harness: ReturnType<typeof createTestHarness>;
let urls: { ours: string; theirs: string };

async function start(): Promise<Workerd> {
  const stores = [
    { name: "KV", kind: "kvNamespace", service: "kv" },
    { name: "BUCKET", kind: "r2Bucket", service: "r2" },
  ] as const;
  const main = workerService({
    name: "main",
    files: await modulesIn(folder),
    compatibilityDate: DATE,
    bindings: stores.map(({ name, kind, service }) => ({ name, [kind]: service })),
  });
  const config = join(folder, "config.capnp");
  const services = [
    main,
    ...stores.map((store) => storeService(store, DATE)),
    folderService("storage", join(folder, "objects"), true),
  ];
  const sockets = [{ name: "http", address: "127.0.0.1:0", http: {}, service: "main" }];
  await writeFile(config, configText({ services, sockets }));
  return startWorkerd({ config, files: folder, log: console.log });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stores-"));
  await mkdir(join(folder, "objects"));
  await buildWorker(MAIN, folder);
  const scripts = { kv: join(PLATFORM, "kv.ts"), r2: join(PLATFORM, "r2.ts") };
  await buildWorker(scripts, join(folder, "platform"));
  ours = await start();
  harness = createTestHarness({
    workers: [
      {
        config: {
          name: "stores",
          main: MAIN,
          compatibility_date: DATE,
          kv_namespaces: [{ binding: "KV", id: "kv" }],
          r2_buckets: [{ binding: "BUCKET", bucket_name: "bucket" }],
        },
      },
    ],
  });
  const { url } = await harness.listen();
  urls = { ours: addressOf(ours), theirs: url.href };
});
afterAll(async () => {
  await harness.close();
  ours.process.kill("SIGKILL");
  await rm(folder, { recursive: true });
});

const addressOf = ({ ports }: Workerd) => `http://127.0.0.1:${ports.get("http")}/`;

async function perform(url: string, steps: readonly unknown[]): Promise<unknown[]> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(steps) });
  return (await response.json()) as unknown[];
}

const sha256 = (length: number) =>
  createHash("sha256")
    .update(new Uint8Array(length).map((_, at) => at % 251))
    .digest("hex");
const MiB = 1024 * 1024;
const next = Math.floor(Date.now() / 1000) + 86_400;

const SCENES: Record<string, unknown[][]> = {
  "KV: puts, gets, replaces and deletes": [
    ["KV", "get", "none"],
    ["KV", "put", "a/b c?é", "first"],
    ["KV", "put", "a/b c?é", '{"second":2}'],
    ["KV", "get", "a/b c?é", "json"],
    ["KV", "delete", "a/b c?é"],
    ["KV", "delete", "a/b c?é"],
    ["KV", "get", "a/b c?é"],
    ["KV", "put", "empty", ""],
    ["KV", "get", "empty"],
  ],
  "KV: keeps metadata and expiration": [
    ["KV", "put", "m", "v", { metadata: { who: "Zoë", n: [1] }, expiration: next }],
    ["KV", "getWithMetadata", "m"],
    ["KV", "list", { prefix: "m" }],
    ["KV", "put", "m", "v"],
    ["KV", "getWithMetadata", "m"],
  ],
  "KV: lists by prefix, in the order of bytes": [
    ...["l:b", "l:a", "l:é", "l:B", "l", "m:1"].map((key) => ["KV", "put", key, key]),
    ["KV", "list", { prefix: "l:" }],
    ["KV", "list", { prefix: "l:", limit: 2 }],
    ["KV", "list", { prefix: "nothing" }],
  ],
  "R2: puts, heads, gets, replaces and deletes": [
    ["BUCKET", "get", "none"],
    ["BUCKET", "head", "none"],
    ["BUCKET", "put", "parts/1", { bytes: 1000 }, { sha256: sha256(1000) }],
    ["BUCKET", "head", "parts/1"],
    ["BUCKET", "get", "parts/1"],
    ["BUCKET", "put", "parts/1", { bytes: 3 * MiB + 1 }, { sha256: sha256(3 * MiB + 1) }],
    ["BUCKET", "get", "parts/1"],
    ["BUCKET", "put", "parts/2", "text"],
    ["BUCKET", "list", { prefix: "parts/" }],
    ["BUCKET", "list", { prefix: "parts/", limit: 1 }],
    ["BUCKET", "delete", ["parts/1", "none"]],
    ["BUCKET", "delete", "parts/2"],
    ["BUCKET", "list", { prefix: "parts/" }],
  ],
  "R2: gets ranges, within a piece and across several, up to the end and not beyond": [
    ["BUCKET", "put", "ranged", { bytes: 3 * MiB }],
    ["BUCKET", "get", "ranged", { range: { offset: 0, length: 1 } }],
    ["BUCKET", "get", "ranged", { range: { offset: MiB - 1, length: MiB + 2 } }],
    ["BUCKET", "get", "ranged", { range: { offset: 2 * MiB, length: MiB } }],
    ["BUCKET", "get", "ranged", { range: { offset: 3 * MiB - 5, length: 100 } }],
  ],
  "R2: an object exactly as long as its pieces, and an empty one": [
    ["BUCKET", "put", "whole", { bytes: 2 * MiB }],
    ["BUCKET", "get", "whole"],
    ["BUCKET", "put", "empty", ""],
    ["BUCKET", "get", "empty"],
  ],
};

test.each(Object.entries(SCENES))("%s", async (_name, steps) => {
  expect(await perform(urls.ours, steps)).toEqual(await perform(urls.theirs, steps));
});

test("R2: refuses bytes that do not match their digest, and keeps what was there", async () => {
  const steps = [
    ["BUCKET", "put", "kept", { bytes: 10 }],
    ["BUCKET", "put", "kept", { bytes: 2 * MiB }, { sha256: sha256(10) }],
    ["BUCKET", "get", "kept"],
  ];
  const beyond = ["BUCKET", "get", "kept", { range: { offset: 10, length: 1 } }];
  const [, ended] = await perform(urls.ours, [steps[0], beyond]);
  expect(ended).toMatchObject({ error: expect.stringContaining("10039") });
  const [, refused, kept] = await perform(urls.ours, steps);
  expect(refused).toMatchObject({ error: expect.stringContaining("checksum") });
  expect(kept).toMatchObject({ length: 10, sha256: sha256(10) });
});

describe("KV", () => {
  test("an entry is gone when it has expired", async () => {
    await perform(urls.ours, [
      ["KV", "put", "brief", "v", { expiration: Math.ceil(Date.now() / 1000) + 1 }],
    ]);
    const looked = () =>
      perform(urls.ours, [
        ["KV", "get", "brief"],
        ["KV", "list", { prefix: "brief" }],
      ]);
    await expect.poll(looked, { timeout: 20_000 }).toMatchObject([null, { keys: [] }]);
  });

  test.each([
    ["a key that is too long", ["KV", "put", "k".repeat(513), "v"]],
    ["metadata that is too long", ["KV", "put", "k", "v", { metadata: "m".repeat(1025) }]],
    ["a value that does not fit into a row", ["KV", "put", "k", { bytes: 2 * MiB }]],
    ["an expiration in the past", ["KV", "put", "k", "v", { expiration: 1 }]],
    ["several keys at once", ["KV", "get", ["a", "b"]]],
  ])("refuses %s", async (_what, step) => {
    expect(await perform(urls.ours, [step])).toEqual([
      { error: expect.stringMatching(/limit|Only|expir/i) },
    ]);
  });

  test("pages follow each other to the end", async () => {
    await perform(
      urls.ours,
      Array.from({ length: 5 }, (_, at) => ["KV", "put", `page:${at}`, "v"]),
    );
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const url = new URL(urls.ours);
      const [page] = (await perform(url.href, [
        ["KV", "list", { prefix: "page:", limit: 2, ...(cursor !== undefined && { cursor }) }],
      ])) as [{ keys: { name: string }[]; list_complete: boolean }];
      seen.push(...page.keys.map(({ name }) => name));
      cursor = page.list_complete ? undefined : Buffer.from(seen.at(-1)!).toString("base64");
    } while (cursor !== undefined);
    expect(seen).toEqual([0, 1, 2, 3, 4].map((at) => `page:${at}`));
  });
});

test("both keep what they have when the process is killed", async () => {
  const steps = [
    ["KV", "put", "lasting", "v"],
    ["BUCKET", "put", "lasting", { bytes: 5 }],
  ];
  await perform(urls.ours, steps);
  const gone = once(ours.process, "exit");
  ours.process.kill("SIGKILL");
  await gone;
  ours = await start();
  urls.ours = addressOf(ours);
  expect(
    await perform(urls.ours, [
      ["KV", "get", "lasting"],
      ["BUCKET", "head", "lasting"],
    ]),
  ).toEqual(["v", { key: "lasting", size: 5 }]);
});
