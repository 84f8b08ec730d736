import { mkdir } from "node:fs/promises";
import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { startChromium } from "./chromium.ts";

let started: Promise<Browser> | undefined;

/** A real browser, which the test files of a process share and which ends with it; or why there is none on this machine. */
export async function realBrowser(): Promise<{ browser?: Browser; why: string }> {
  try {
    return { browser: await (started ??= startChromium()), why: "" };
  } catch (error) {
    return { why: ` (none: ${String(error).split("\n")[0]!})` };
  }
}

/**
 * Looks at a page in every dress and takes its pictures; gives what is wrong with it: barriers, what overflows the
 * window, and what the browser complains about.
 */
export async function flaws(page: Page, name: string, dresses = Object.keys(DRESSES)) {
  // The browser says by itself that a page was not found.
  const said = () => complaints.get(page)?.filter((one) => !one.includes("server responded")) ?? [];
  const found: string[] = [];
  await mkdir(PICTURES, { recursive: true });
  for (const dress of dresses) {
    const { viewport, colorScheme } = DRESSES[dress]!;
    await page.setViewportSize(viewport!);
    await page.emulateMedia({ colorScheme: colorScheme! });
    await page.screenshot({ path: `${PICTURES}/${name}-${dress}.png`, fullPage: true });
    const width = (await page.evaluate("document.documentElement.scrollWidth")) as number;
    if (width !== viewport!.width) found.push(`${dress}: ${width} pixels wide`);
    found.push(...(await barriers(page)).map((one) => `${dress}: ${one}`));
  }
  return [...found, ...said()];
}

/** Buttons, fields and links outside of text that a finger of 44 px does not fit. */
export const smallTargets = (page: Page): Promise<string[]> => page.evaluate(SMALL);

const SMALL = `[...document.querySelectorAll("main button, main .button, main input, main select, main summary, header a:not(.skip), header button")]
  .filter((one) => one.checkVisibility() && !/^(radio|checkbox|hidden)$/.test(one.type) && one.getBoundingClientRect().height < 43.5)
  .map((one) => one.outerHTML)`;

/** What axe finds wrong with a page, by the rules of WCAG 2.2 A and AA. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const run = `axe.run({ runOnly: ${JSON.stringify(tags)}, resultTypes: ["violations"] })`;
  const { violations } = (await page.evaluate(run)) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(
    ({ id, nodes }) => `${id}: ${JSON.stringify(nodes.map((one) => one.html))}`,
  );
}

/** Pictures of the pages, to look at after a run. */
export const PICTURES = ".bundle/screenshots";

/** How people look at pages. */
export const DRESSES: Record<string, BrowserContextOptions> = {
  light: { viewport: { width: 1100, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1100, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light" },
};

/** What the browser has complained about since the page was opened: scripts, policies, what did not load. */
export const complaints = new WeakMap<Page, string[]>();

/** A page in a window of its own, which is closed with the test: what pages go on asking would slow the next. */
export async function opened(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  const all: string[] = [];
  complaints.set(page, all);
  page.on("pageerror", ({ message }) => all.push(message));
  page.on("console", (one) => one.type() === "error" && all.push(one.text()));
  await page.goto(address);
  return page;
}

/** Opens an entry of the console, and returns its form once its client is connected, with all below it. */
export async function tried(page: Page, name: string) {
  const row = page.locator(`.entry[data-name="${name}"] a`);
  if (!(await row.isVisible())) await page.goto(new URL("?", page.url()).href);
  await row.click();
  const pane = page.locator(`.pane[data-name="${name}"]`);
  await pane
    .locator(".try form")
    .first()
    .waitFor({ timeout: 10_000 })
    .catch(async (error: Error) => {
      throw new Error(`${error.message}\n${await pane.textContent()}`);
    });
  return pane.locator(".try");
}
