/** Can a server listen at an address? */
import { lookup } from "node:dns/promises";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Refusal } from "./refusal.ts";

/** How long a port may still be taken after a server has ended: its process does not close all at once. */
const CLOSING_MS = 2000;

/** Throws a `Refusal` for an address that the server cannot listen at: workerd's own message says less. */
export async function demandFree(host: string, port: number): Promise<void> {
  // A name may stand for an address of IPv4 and one of IPv6, of which this machine may have no other.
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
  if (failure.code === "EADDRINUSE")
    throw new Refusal(
      `Port ${port} of ${host} is taken by another program. Name another: --port PORT`,
    );
  throw new Refusal(
    `${host}:${port} cannot be listened at: ${failure.message}. Check --host and --port.`,
  );
}

const failureToListen = (host: string, port: number) =>
  new Promise<NodeJS.ErrnoException | undefined>((done) => {
    const probe = createServer().once("error", done);
    probe.listen(port, host, () => probe.close(() => done(undefined)));
  });
