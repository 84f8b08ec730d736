import { expect, test } from "vitest";
import { changes } from "../../../src/server/kernel/calls/changes.ts";
import type { Notification } from "../../../src/server/kernel/core/model.ts";

test("an update without a valid URI is ignored", async () => {
  const published: Notification[][] = [];
  const hub = { publish: (all: Notification[]) => Promise.resolve(void published.push(all)) };
  const tell = changes({ hub: () => hub as never }, () => {});
  for (const uri of [{ a: [1] }, undefined, 7, "a:b"]) {
    tell({ method: "notifications/resources/updated", params: { uri } });
  }
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(published.flat().map(({ params }) => params)).toEqual([{ uri: "a:b" }]);
});
