import { expect, test } from "vitest";
import { parseMounts } from "../../../src/files/mounts.ts";

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
