import { expect, test } from "vitest";
import { list } from "./client.ts";

test("a tool for views alone is not listed", async () => {
  const text = JSON.stringify(await list());
  expect(text).toContain("viewing.list");
  expect(text).not.toContain("viewing.move");
});
