import { expect, test } from "vitest";
import { findPath } from "../../../src/server/kernel/files/guest-paths.ts";
import { parseMounts } from "../../../src/server/kernel/files/mounts.ts";
import { limits } from "../../../src/server/kernel/files/limits.ts";
import { newStore } from "./database.ts";

test.each([
  ["data:/data", { host: "data", path: "/data", isReadOnly: false }],
  ["/data", { host: "/data", path: "/data", isReadOnly: false }],
  ["ro:files:/readonly", { host: "files", path: "/readonly", isReadOnly: true }],
  ["ro:/readonly", { host: "/readonly", path: "/readonly", isReadOnly: true }],
  ["/home/me/a b:/data/", { host: "/home/me/a b", path: "/data/", isReadOnly: false }],
])("`%s` is a folder", (text, mount) => {
  expect(parseMounts([text])).toEqual([mount]);
});

test.each(["", "ro:", ":/data", "data:", "a:b:c", "ro:a:b:c", "a\0b"])(
  "%j is not a folder",
  (text) => {
    expect(() => parseMounts([text])).toThrow("write `HOST:PLUGIN` or `PATH`");
  },
);

test("two folders cannot have one path", () => {
  expect(() => parseMounts(["a:/data", "ro:b:/data/"])).toThrow(
    "two folders have the path `/data/`",
  );
  expect(parseMounts(["a:/data", "ro:a:/view"])).toHaveLength(2);
});

test("what each path of a guest is compared with has an end", () => {
  const many = Array.from({ length: limits.mounts + 1 }, (_, at) => `h:/${at}`);
  expect(() => parseMounts(many)).toThrow("there are 101 folders (limit 100)");
  expect(() => parseMounts([`h:/${"a/".repeat(500_000)}`])).toThrow("1000003 characters");
});

test("a call on a path pays for each folder that the path is compared with", () => {
  const paidWith = (paths: string[]): number => {
    const { store } = newStore();
    const files = store.begin(parseMounts(paths), { now: 0n });
    expect(() => findPath(files, "/nowhere", true)).toThrow();
    return files.work.bytes;
  };
  const many = Array.from({ length: limits.mounts }, (_, at) => `h:/${at}`);
  expect(paidWith(many) - paidWith(["h:/0"])).toBeGreaterThan(limits.mounts * 10);
});
