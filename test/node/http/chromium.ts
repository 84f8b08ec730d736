import chromium from "@sparticuz/chromium";
import { chromium as playwright, type Browser } from "playwright-core";

/** Starts the Chromium that comes from npm. Throws where it cannot run. */
export async function startChromium(): Promise<Browser> {
  const executablePath = await chromium.executablePath();
  // In one process, windows mix up their cookies.
  const args = chromium.args.filter((one) => !/^--(single-process|no-zygote)$/.test(one));
  return playwright.launch({ args, executablePath });
}
