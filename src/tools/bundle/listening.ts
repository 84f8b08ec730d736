/** Checks that a server can listen at an address, and finds the process that already does. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { lookup } from "node:dns/promises";
import { readdir, readFile, readlink } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { Refusal } from "./refusal.ts";

/** How long a port may stay in use after its server has ended. */
const CLOSING_MS = 2000;

/** Throws a `Refusal` if the server cannot listen at this address. workerd's own message does not name the cause. */
export async function demandFree(host: string, port: number): Promise<void> {
  // A name may resolve to an IPv4 and an IPv6 address, and this machine may support only one of them.
  const addresses = await lookup(host === "*" ? "0.0.0.0" : host, { all: true }).catch(() => []);
  if (addresses.length > 1) {
    for (const { address } of addresses) await demandFreeAt(address, port, ["EADDRNOTAVAIL"]);
    return;
  }
  await demandFreeAt(host === "*" ? "0.0.0.0" : host, port);
}

async function demandFreeAt(host: string, port: number, ignored: string[] = []): Promise<void> {
  const until = Date.now() + CLOSING_MS;
  let failure = await failureToListen(host, port);
  while (failure?.code === "EADDRINUSE" && Date.now() < until) {
    await pause(50);
    failure = await failureToListen(host, port);
  }
  if (failure === undefined || ignored.includes(failure.code ?? "")) return;
  if (failure.code === "EADDRINUSE") {
    const pid = await listenerAt(port);
    const program = pid === undefined ? "another program" : `another program, process ${pid}`;
    throw new Refusal(
      `Port ${port} of ${host} is taken by ${program}. Stop that program, or name another port: --port PORT`,
    );
  }
  throw new Refusal(
    `The server cannot listen at ${host}:${port}: ${failure.message}. Check --host and --port.`,
  );
}

const failureToListen = (host: string, port: number) =>
  new Promise<NodeJS.ErrnoException | undefined>((done) => {
    const probe = createServer().once("error", done);
    probe.listen(port, host, () => probe.close(() => done(undefined)));
  });

/** The id of the process that listens at a port; undefined if it is unknown, as for a process of another user. */
async function listenerAt(port: number): Promise<string | undefined> {
  if (!existsSync("/proc/net/tcp")) {
    const args = ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-t"];
    const found = await promisify(execFile)("lsof", args).catch(() => undefined);
    return found?.stdout.split("\n", 1)[0] || undefined;
  }
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((one) =>
    readFile(one, "utf8").catch(() => ""),
  );
  const rows = (await Promise.all(tables)).join("\n").split("\n");
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  // https://docs.kernel.org/networking/proc_net_tcp.html
  const sockets = new Set(
    rows.flatMap((row) => {
      const [, local = "", , state, , , , , , inode] = row.trim().split(/\s+/);
      return local.endsWith(end) && state === LISTENING ? [`socket:[${inode}]`] : [];
    }),
  );
  for (const pid of (await readdir("/proc")).filter((one) => /^\d+$/.test(one))) {
    const folder = `/proc/${pid}/fd`;
    for (const one of await readdir(folder).catch(() => []))
      if (sockets.has(await readlink(`${folder}/${one}`).catch(() => ""))) return pid;
  }
  return undefined;
}
const LISTENING = "0A";
