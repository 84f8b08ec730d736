import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { settings } from "../server.ts";
import { accept, beginTool, callOf, goOn, prepare, textIn } from "./client.ts";

/** A server for the official SDK whose modules read the environment: `test/guests/arrived`. */
prepare();

const serverWith = (more: Record<string, unknown>) =>
  createApp(new Kernel(bundle, { ...settings, ...more }));

const greeted = async (server: ReturnType<typeof serverWith>, name: string) =>
  textIn(await callOf("arrived_greet", { name }, { server }));

test("each call begins with the modules' own variables, in an instance that is as a new one", async () => {
  const server = serverWith({ ISOLATION: "checked" });
  for (const name of ["Ada", "Ben", "Eve"]) {
    expect(await greeted(server, name)).toBe(`Hello ${name}, image, call 1`);
  }
});

test("servers with other values have images of their own", async () => {
  const [here, there] = [serverWith({}), serverWith({ ARRIVED_GREETING: "Moin" })];
  expect(await greeted(there, "Ada")).toBe("Moin Ada, image, call 1");
  expect(await greeted(here, "Ada")).toBe("Hello Ada, image, call 1");
  expect(await greeted(there, "Ada")).toBe("Moin Ada, image, call 1");
});

test("a call that waits in elicitInput goes on in another instance", async () => {
  const round = await beginTool("arrived_ask");
  const [id] = Object.keys(round.requests);
  const answers = { [id!]: accept("Ada", "name") };
  expect(textIn(await goOn(round, answers))).toBe("Hello Ada, accept");
});
