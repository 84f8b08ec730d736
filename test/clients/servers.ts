/** The servers that clients are run against: one that anybody may call, one with keys and an owner, and one of a team. */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { createTestHarness } from "wrangler";
import { hashPassphrase } from "../../src/server/kernel/auth/passphrase.ts";
import { buildPlatform } from "../../src/tools/host/build.ts";
import { build, host, project } from "../node/host/hosting.ts";
import { OBJECTS } from "../node/objects.ts";
import { buildWorker, freePort, serve, stop } from "../node/workerd.ts";
import { browse } from "../node/http/oauth-client.ts";
import { hasGreeted, startTeam, type Member } from "./team.ts";

const WORKER = "test/clients/worker.ts";
const PASSPHRASE = "correct horse battery";
const KEY = "matrix-of-clients-0123456789abcdef";

export interface Servers {
  openPort: number;
  signedUrl: string;
  key: string;
  /** With it, a person approves a client that signs in. */
  passphrase: string;
  /** The owner's way through the pages of the authorization server. */
  signIn(url: string): Promise<string>;
  /** The server whose callers sign in at GitHub. */
  teamUrl: string;
  /** A new member of its team. */
  join(): Member;
  /** Whether a member has called `greet` there. */
  hasGreeted(member: Member): boolean;
  close(): Promise<void>;
}

/** Where the servers run: `dev` is wrangler's harness and bare workerd, `start` is as people host it themselves. */
export type ServerKind = "dev" | "start";

export const startServers = (kind: ServerKind): Promise<Servers> =>
  kind === "dev" ? startDev() : startHosted();

const secrets = async () => ({
  OWNER_PASSPHRASE: await hashPassphrase(PASSPHRASE),
  API_KEYS: JSON.stringify({ matrix: createHash("sha256").update(KEY).digest("hex") }),
});

async function signIn(from: string): Promise<string> {
  const back = await browse(new URL(from), { passphrase: PASSPHRASE, decision: "allow" });
  return back.href;
}

async function startHosted(): Promise<Servers> {
  const folder = await project(resolve(WORKER));
  await build(folder);
  const open = await host(folder, { args: ["--storage", "open"] });
  const signed = await host(folder, { args: ["--storage", "signed"], variables: await secrets() });
  const port = await freePort();
  const team = await startTeam(port);
  const ofTeam = await host(folder, {
    port,
    // The secret is no setting of the server's, and the provider is on this machine.
    args: ["--storage", "team", "--from-env", team.secret, "--private-network"],
    variables: team.variables,
  });
  return {
    openPort: open.port,
    signedUrl: signed.url.href,
    key: KEY,
    passphrase: PASSPHRASE,
    signIn,
    teamUrl: ofTeam.url.href,
    join: team.join,
    hasGreeted: ({ principal }) => hasGreeted(ofTeam.output(), principal),
    async close() {
      await Promise.all([open.end(), signed.end(), ofTeam.end(), team.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startDev(): Promise<Servers> {
  // Several runs at once do not share what is stored.
  const folder = await buildWorker(WORKER, `.bundle/clients-${process.pid}`);
  await buildPlatform(folder);
  const open = await serve(folder, { durable: true });
  const port = await freePort();
  const team = await startTeam(port);
  let log = "";
  const ofTeam = await serve(folder, {
    port,
    durable: true,
    kv: ["OAUTH_KV"],
    variables: team.variables,
    log: (lines) => void (log += `${lines}\n`),
  });
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
          // As `dev` says where only this machine can reach the server: there sign-ins are not counted.
          vars: { ...(await secrets()), EDGE_SERVLETS_RUNS: "on-loopback" },
        },
      },
    ],
  });
  const { url } = await harness.listen();
  return {
    openPort: open.port,
    signedUrl: new URL("/mcp", url).href,
    key: KEY,
    passphrase: PASSPHRASE,
    signIn,
    teamUrl: `http://127.0.0.1:${port}/mcp`,
    join: team.join,
    hasGreeted: ({ principal }) => hasGreeted(log, principal),
    async close() {
      await harness.close();
      await Promise.all([stop(open), stop(ofTeam), team.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
