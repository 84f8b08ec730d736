import { expect, test } from "vitest";
import { isPrivate } from "../../../src/server/kernel/http/private-hosts.ts";

test.each([
  "localhost",
  "localhost.",
  "nas.",
  "db.internal.",
  "a.localhost..",
  "10.0.0.1",
  "[::1]",
])("%s is not on the public internet", (host) => {
  expect(isPrivate(host)).toBe(true);
});

test.each(["example.com", "example.com.", "localhost.example."])("%s is on it", (host) => {
  expect(isPrivate(host)).toBe(false);
});
