import { expect, test } from "vitest";
import { Kernel, type Feature } from "../../../src/server/kernel/kernel.ts";
import { features } from "../../all-features.ts";
import { bundle } from "../../bundle.gen.ts";
import { settings } from "../../worker/server.ts";

const kernelWith = (some: readonly Feature[], variables: object = {}) =>
  new Kernel({ ...bundle, features: some }, { ...settings, ...variables } as typeof settings);

test("settings are those of the kernel and of the features that are in", () => {
  const named = (name: string) => features.filter((one) => one.name === name);
  expect(kernelWith([]).settings).not.toHaveProperty("LINKS");
  expect(kernelWith(named("tasks")).settings).toMatchObject({
    SERVER_NAME: "edge-servlets",
    LINKS: "on",
  });
  // What needs tasks brings them in.
  expect(() => kernelWith(named("people"), { LINKS: "perhaps" })).toThrow("LINKS: ");
});
