import { describe, expect, test } from "vitest";
import {
  ACCENT,
  colorsOf,
  contrastOf,
  GROUNDS,
  iconOf,
} from "../../../../src/server/kernel/http/colors.ts";
import { style } from "../../../../src/server/kernel/http/style.ts";
import { timeAgo } from "../../../../src/server/kernel/core/times.ts";

/** The design of the pages, as src/server/features/console/README.md describes it. */

describe("an accent", () => {
  const extremes = [
    "#fff",
    "#000",
    "#ff0",
    "#ffd700",
    "#00f",
    "#f00",
    "#0f0",
    "#7f7f7f",
    "#767676",
  ];
  test.each([...extremes, "#FFFFFF", ACCENT])("%s is readable in light and dark", (accent) => {
    const { light, dark, ink } = colorsOf(accent);
    for (const ground of ["#ffffff", GROUNDS.light])
      expect(contrastOf(light, ground)).toBeGreaterThanOrEqual(4.5);
    for (const ground of ["#13161c", GROUNDS.dark])
      expect(contrastOf(dark, ground)).toBeGreaterThanOrEqual(4.5);
    expect(contrastOf(accent, ink)).toBeGreaterThanOrEqual(4.5);
  });

  test("that is readable stays as it is", () => {
    expect(colorsOf("#0b57b0").light).toBe("#0b57b0");
    expect(colorsOf("#ffd700").dark).toBe("#ffd700");
  });

  test("makes an icon of the title's first letter", () => {
    const iconIn = (title: string) => decodeURIComponent(iconOf("#07a", title).split(",")[1]!);
    expect(iconIn("weather tools")).toContain(">W</text>");
    expect(iconIn("<é>")).toContain(">É</text>");
    expect(iconIn("🙂")).toContain("></text>");
  });
});

test("sizes, spaces and radii are those of the scales", () => {
  const [sizes, rules] = [
    /--(small|body|large|title|display): ([^;]+)/g,
    style.split("* { box-sizing")[1]!,
  ];
  const scale = new Set([...style.matchAll(sizes)].map(([, name]) => name));
  expect(scale.size).toBe(5);
  const fonts = [...rules.matchAll(/font(?:-size)?: ([^;}]+)/g)].map(([, value]) => value!);
  expect(
    fonts.filter((one) => !/^(inherit|1rem$|var\(--(small|body|large|title|display)\))/.test(one)),
  ).toEqual([]);
  const radii = [...rules.matchAll(/border-radius: ([^;}]+)/g)].map(([, value]) => value!);
  expect(radii.filter((one) => !/^var\(--(radius|round)\)$/.test(one))).toEqual([]);
  const spaces = [...rules.matchAll(/(?:margin|padding|gap)[\w-]*: ([^;}]+)/g)].flatMap(
    ([, value]) => [...value!.matchAll(/(\d*\.?\d+)rem/g)].map(([, rem]) => Number(rem) * 16),
  );
  expect(spaces.length).toBeGreaterThan(50);
  expect(spaces.filter((px) => px % 4 !== 0)).toEqual([]);
});

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

test.each([
  [0, "just now"],
  [-29_000, "just now"],
  [-3 * MINUTE, "3 min ago"],
  [-59.6 * MINUTE, "1 h ago"],
  [2 * HOUR, "in 2 h"],
  [-23.9 * HOUR, "24 h ago"],
  [-DAY, "1 day ago"],
  [7 * DAY, "in 7 days"],
  [-40 * DAY, "17 Oct 2026"],
])("%d ms from now is %s", (away, words) => {
  const now = Date.UTC(2026, 10, 26, 21);
  expect(timeAgo(now + away, now)).toBe(words);
});
