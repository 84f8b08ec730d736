import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { bundle } from "../../bundle.gen.ts";
import { configureLimits, limits } from "../../../src/server/kernel/core/limits.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { MEMORY, RUNS } from "../../../src/server/kernel/settings/own-names.ts";

const MIB = 1024 * 1024;
const defaults = { ...limits };
afterEach(() => configureLimits(defaults));

/** The limits of guests, with the defaults, in a server with these variables. */
function limitsWith(variables: Record<string, string | number>) {
  configureLimits(defaults);
  void new Kernel(bundle, { ...env, ...variables });
  const { idleBytes, idleInstances, waitingBytes, waitingBytesOfOne } = limits;
  return [idleBytes / MIB, idleInstances, waitingBytes / MIB, waitingBytesOfOne / MIB];
}

const onMachine = (gib: number) => ({ [RUNS]: "self-hosted", [MEMORY]: gib * 1024 * MIB });

test("guests may take more memory where a self-hosted server's machine has more than 1 GiB", () => {
  expect(limitsWith(onMachine(0.25))).toEqual([32, 16, 64, 32]);
  expect(limitsWith(onMachine(1))).toEqual([32, 16, 64, 32]);
  expect(limitsWith(onMachine(1.5))).toEqual([80, 40, 160, 80]);
  expect(limitsWith(onMachine(2))).toEqual([128, 64, 256, 128]);
  expect(limitsWith(onMachine(64))).toEqual([128, 64, 256, 128]);
});

test("LIMITS overrides what the machine's memory allows, and a deployment has no such memory", () => {
  const set = { LIMITS: JSON.stringify({ waitingBytes: MIB }) };
  expect(limitsWith({ ...onMachine(2), ...set })).toEqual([128, 64, 1, 0.5]);
  const ofOne = { LIMITS: JSON.stringify({ waitingBytesOfOne: 8 * MIB }) };
  expect(limitsWith({ ...onMachine(2), ...ofOne })).toEqual([128, 64, 256, 8]);
  for (const odd of ["", "much", "0", "-1"])
    expect(limitsWith({ [RUNS]: "self-hosted", [MEMORY]: odd })).toEqual([32, 16, 64, 32]);
  expect(limitsWith({ [MEMORY]: 2048 * MIB })).toEqual([32, 16, 64, 32]);
  expect(limitsWith({ [RUNS]: "on-loopback", [MEMORY]: 2048 * MIB })).toEqual([32, 16, 64, 32]);
});
