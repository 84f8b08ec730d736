import { expect, test } from "vitest";
import { advisoriesIn, newestIn } from "../../../package/python/engine/published.ts";

const entry = (name: string, version: string) =>
  `Package: ${name}\nArchitecture: amd64\nVersion: ${version}\nFilename: pool/${name}_${version}.deb`;

test("the newest release of a package in Debian's index is found, without Debian's own number", () => {
  const index = [
    entry("libexpat1", "2.9.0-1"),
    entry("libexpat1", "2.10.0-2"),
    entry("libexpat1-dev", "3.0.0-1"),
  ].join("\n\n");
  expect(newestIn(index, "libexpat1")).toEqual({
    version: "2.10.0",
    path: "pool/libexpat1_2.10.0-2.deb",
  });
  expect(() => newestIn(index, "libpython3.14-minimal")).toThrow(
    "Debian's index has no libpython3.14-minimal",
  );
});

test("a change log's advisories are given once each, and older ones that it mentions are not", () => {
  const log = "CVE-2026-102633 -- as CVE-2026-9669, not as CVE-2022-25235. CVE-2026-9669.";
  expect(advisoriesIn(log)).toEqual(["CVE-2026-9669", "CVE-2026-102633"]);
});
