import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
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
  const args = [...chromium.args.filter((one) => !UNWANTED.test(one)), "--disable-gpu"];
  return playwright.launch({ args, executablePath: await unpacked() });
}

/**
 * Where the browser is. The package unpacks it in place: another process that finds half of it cannot start it, and
 * neither can any later one if the first was killed.
 */
async function unpacked(): Promise<string> {
  const folder = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..");
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const path = join(tmpdir(), `chromium-${version}`);
  if (existsSync(path)) return path;
  const part = `${path}-${process.pid}`;
  await pipeline(
    createReadStream(join(folder, "bin/chromium.br")),
    createBrotliDecompress({ chunkSize: 2 ** 21 }),
    createWriteStream(part, { mode: 0o700 }),
  );
  await rename(part, path);
  return path;
}
