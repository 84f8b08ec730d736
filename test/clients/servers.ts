/** The servers that clients are run against: one that anybody may call, and one that asks who it is. */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { createTestHarness } from "wrangler";
import { hashPassphrase } from "../../src/auth/passphrase.ts";
import { OBJECTS } from "../node/objects.ts";
import { buildWorker, serve, stop } from "../node/workerd.ts";
import { browse } from "../node/http/oauth-client.ts";

const WORKER = "test/clients/worker.ts";
const PASSPHRASE = "correct horse battery";
const KEY = "matrix-of-clients-0123456789abcdef";

export interface Servers {
  openPort: number;
  signedUrl: string;
  key: string;
  /** A person's way through the pages of the authorization server. */
  signIn(url: string): Promise<string>;
  close(): Promise<void>;
}

export async function startServers(): Promise<Servers> {
  // Several runs at once do not share what is stored.
  const folder = await buildWorker(WORKER, `.bundle/clients-${process.pid}`);
  const open = await serve(folder, { durable: true, log: () => {} });
  const classes = Object.values(OBJECTS);
  const harness = createTestHarness({
    workers: [
      {
        config: {
          name: "signed",
          main: WORKER,
          compatibility_date: "2026-09-01",
          compatibility_flags: ["enable_request_signal", "global_fetch_strictly_public"],
          durable_objects: {
            bindings: Object.entries(OBJECTS).map(([name, class_name]) => ({ name, class_name })),
          },
          migrations: [{ tag: "v1", new_sqlite_classes: classes }],
          // The platform keeps the grants of the authorization server.
          kv_namespaces: [{ binding: "OAUTH_KV", id: "oauth" }],
          vars: {
            OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE),
            API_KEYS: JSON.stringify({ matrix: createHash("sha256").update(KEY).digest("hex") }),
          },
        },
      },
    ],
  });
  const { url } = await harness.listen();
  return {
    openPort: open.port,
    signedUrl: new URL("/mcp", url).href,
    key: KEY,
    async signIn(from) {
      const back = await browse(new URL(from), { passphrase: PASSPHRASE, decision: "allow" });
      return back.href;
    },
    async close() {
      await harness.close();
      await stop(open);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
