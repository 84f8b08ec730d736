import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { States } from "../../../src/calls/states.ts";
import { namespaceOf } from "../../../src/settings/env.ts";
import { accept, changed, serverOf } from "./client.ts";
import type { newWorld } from "./faults.ts";
import { http } from "./plans.ts";

/** Steps of calls that are retried. */
export const PAY = http("POST", "/pay");
export const PAID = [200, "answer to POST /pay"];
export const ADA = { ask_1: accept("Ada") };

export const linesOf = ({ seen }: ReturnType<typeof newWorld>) => seen.map(({ line }) => line);

/** A server whose servlet `durable` has this in its manifest. */
export const withManifest = (more: object) => ({
  server: serverOf(changed("durable", ({ manifest }) => ({ manifest: { ...manifest, ...more } }))),
});

/** The world cuts the connection to the object that keeps the record at this call of its method. */
export async function cutAt(
  method: "keep" | "intend" | "renew" | "settle",
  work: () => Promise<unknown>,
) {
  const states = namespaceOf<States>(env, "STATES")!;
  const prototype = await runInDurableObject(
    states.get(states.newUniqueId()),
    (instance) => Object.getPrototypeOf(instance) as Record<string, unknown>,
  );
  const name = method === "settle" ? "once" : method;
  const plain = prototype[name] as (...args: unknown[]) => unknown;
  prototype[name] = function (this: unknown, ...args: unknown[]) {
    if (method === "settle" && args[0] !== "outcome") return plain.apply(this, args);
    throw new Error("the connection is cut");
  };
  try {
    await work();
  } finally {
    prototype[name] = plain;
  }
}
