import type { Setup } from "../../kernel/wasm/setup.ts";

/** The parts of a `Setup` that are plain values, which a servlet's isolate is sent. */
const PLAIN = [
  "config",
  "allowedHosts",
  "resends",
  "logLevel",
  "trace",
  "caller",
  "fuel",
  "fuelUsed",
  "waitMs",
  "place",
  "confirmsCalls",
] as const satisfies (keyof Setup)[];

export type PlainSetup = Pick<Setup, (typeof PLAIN)[number]>;

/** The plain values of a setup. */
export const plainSetup = (setup: Setup): PlainSetup =>
  Object.fromEntries(PLAIN.map((name) => [name, setup[name]])) as unknown as PlainSetup;
