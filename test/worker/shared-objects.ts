import { env } from "cloudflare:workers";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { RUNS } from "../../src/server/kernel/settings/own-names.ts";
import { bundle } from "../bundle.gen.ts";
import { newAddress, serverOf, type Sent } from "./calls/client.ts";
import { asked } from "./index.ts";

const some = {
  ...bundle,
  servlets: bundle.servlets.filter(({ name }) => ["told", "keeping"].includes(name)),
};
export const isolate = () => serverOf(some, { SEASON: "any" });
export const from = (server = isolate()): Sent => ({
  server,
  headers: { "cf-connecting-ip": newAddress() },
});

const SHARED = /: (keys|installs|usage|all hubs|anonymous|ring)\b/;

/**
 * Has the tests of a file run as on the platform. Returns a function that gives the objects with a name of their own that
 * were asked since a test began, sorted; a copy's number is left out.
 */
export function sharedObjects(): () => string[] {
  const variables = env as unknown as Record<string, unknown>;
  const runs = variables[RUNS];
  beforeAll(() => void delete variables[RUNS]);
  afterAll(() => void (variables[RUNS] = runs));
  beforeEach(() => void (asked.length = 0));
  return () =>
    asked
      .filter((one) => SHARED.test(one))
      .map((one) => one.replace(/ \d+$/, " N"))
      .toSorted();
}
