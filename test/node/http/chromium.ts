import chromium from "@sparticuz/chromium";
import { chromium as playwright, type Browser } from "playwright-core";

/**
 * In one process, windows mix up their cookies. An emulated graphics processor takes a third more time of the real one
 * than none. Without the security of the web, a frame reads the page around it, whatever its origin is.
 */
const UNWANTED =
  /^--(single-process|no-zygote|ignore-gpu-blocklist|in-process-gpu|use-gl|use-angle|enable-unsafe-swiftshader|disable-web-security|disable-site-isolation-trials|allow-running-insecure-content)\b/;

/** Starts the Chromium that comes from npm. Throws where it cannot run. */
export async function startChromium(): Promise<Browser> {
  const executablePath = await chromium.executablePath();
  const args = [...chromium.args.filter((one) => !UNWANTED.test(one)), "--disable-gpu"];
  return playwright.launch({ args, executablePath });
}
