import chromium from "@sparticuz/chromium";
import axe from "axe-core";
import { chromium as playwright, type Browser, type Page } from "playwright-core";
import { afterAll } from "vitest";

/** A real browser, for the tests of a file; or why there is none on this machine. */
export async function realBrowser(): Promise<{ browser?: Browser; why: string }> {
  try {
    const executablePath = await chromium.executablePath();
    // In one process, windows mix up their cookies.
    const args = chromium.args.filter((one) => !/^--(single-process|no-zygote)$/.test(one));
    const browser = await playwright.launch({ args, executablePath });
    afterAll(() => browser.close());
    return { browser, why: "" };
  } catch (error) {
    return { why: ` (none: ${String(error).split("\n")[0]!})` };
  }
}

/** What axe finds wrong with a page, by the rules of WCAG 2.2 A and AA. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const run = `axe.run({ runOnly: ${JSON.stringify(tags)} })`;
  const { violations } = (await page.evaluate(run)) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(
    ({ id, nodes }) => `${id}: ${JSON.stringify(nodes.map((one) => one.html))}`,
  );
}
