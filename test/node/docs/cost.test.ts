import { expect, test } from "vitest";
import {
  billOf,
  dollars,
  CONTAINER_TYPES,
  dollarsFor,
} from "../../../src/tools/commands/prices.ts";
import { containerUse, costTables, containerFor, pricesTable, useOf } from "./cost.ts";

const call = {
  requests: 2,
  cpuMs: 0.5,
  objectRequests: 3,
  alarms: 1,
  objectMs: 1000,
  rowsRead: 100,
  rowsWritten: 4,
  storedBytes: 30_000,
  dynamicWorkers: 0,
};

test("a price counts all that is used, a bill what the plan does not include", () => {
  const use = { requests: 15e6, cpuMs: 105e6, objectRequests: 0.5e6 };
  // The first example of the platform's page: https://developers.cloudflare.com/workers/platform/pricing/
  expect(billOf({ requests: use.requests, cpuMs: use.cpuMs })).toBeCloseTo(8);
  expect(billOf(use)).toBeCloseTo(8);
  expect(dollarsFor(use)).toBeCloseTo(4.5 + 2.1 + 0.075);
  expect(billOf({})).toBe(5);
  expect(dollarsFor({})).toBe(0);
});

test("a bill has the duration of objects as the platform's example has it", () => {
  // 100 objects for 8 hours on 30 days; the page rounds up to a million GB-s.
  const objectGBs = 100 * 30 * 8 * 3600 * 0.128;
  expect(billOf({ objectGBs })).toBeCloseTo(5 + 10.6592 * 12.5);
});

test("dollars are rounded to the cent", () => {
  expect([0, 0.004, 0.005, 1234.567].map(dollars)).toEqual(["0.00", "0.00", "0.01", "1,234.57"]);
});

test("a million calls use a million times as much, and store for as long as is said", () => {
  expect(useOf(call, 1 / 30)).toEqual({
    requests: 2e6,
    cpuMs: 0.5e6,
    objectRequests: 3e6,
    objectGBs: 128_000,
    rowsRead: 100e6,
    rowsWritten: 4e6,
    storedGBMonths: expect.closeTo(1),
    dynamicWorkers: 0,
  });
  expect(useOf(call).storedGBMonths).toBe(0);
});

test("the smallest container is taken that has the memory, and the CPU time of the busiest second", () => {
  expect(containerFor(200, 1).name).toBe("lite");
  expect(containerFor(257, 1).name).toBe("basic");
  // 20 ms for each of 3.9 calls a second are 0.077 CPUs.
  expect(containerFor(200, 20).name).toBe("basic");
  expect(() => containerFor(100_000, 1)).toThrow("No container has 100000 MB");
});

test("a container is paid for a month, and for the CPU time that it uses", () => {
  const use = containerUse(CONTAINER_TYPES[0]!, 1.5, 1);
  expect(use).toMatchObject({ containerMemoryGiBs: 648_000, containerCpuS: 1500 });
  expect(dollarsFor(use)).toBeCloseTo(1.62 + 0.03 + 0.36288 + 0.3 + 0.15);
});

test("the tables are made of what was measured", async () => {
  const table = (head: string[], rows: string[][]) => [head, ...rows].map(String).join("\n");
  const text = await costTables(table);
  expect(text).toMatch(/^plain,[\d.]+ \([\d.]+\),[\d.]+ \([\d.]+\),[\d.]+ \([\d.]+\)$/m);
  expect(text).not.toMatch(/NaN|undefined|Infinity/);
  expect(pricesTable(table)).toContain("requests,$0.3 a million,10,000,000");
});
