/**
 * Wheels, the archives of Python packages:
 * https://packaging.python.org/en/latest/specifications/binary-distribution-format/
 */
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import { limits } from "../../tools/bundle/limits.ts";
import { beginningOf, printable } from "../../server/kernel/core/text.ts";
import { digestOf } from "../../tools/bundle/digests.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import { shared } from "../../tools/bundle/work.ts";

const MOST_FILES = 20_000;
const MOST_REQUIREMENTS = 20_000;

/** The requirements in a wheel's metadata, one per line. Throws a `Refusal` if there are too many. */
export function requiredBy(wheel: Uint8Array, name: string): string[] {
  const files = filesOf(wheel, name, (path) => /^[^/]+\.dist-info\/METADATA$/.test(path));
  const [text = new Uint8Array()] = Object.values(files);
  const [head = ""] = new TextDecoder().decode(text).split(/\r?\n\r?\n/);
  const lines = [...head.matchAll(/^Requires-Dist:\s*(.*)$/gm)].map(([, line]) => line!.trim());
  if (lines.length > MOST_REQUIREMENTS)
    throw new Refusal(`${name}: it requires more than ${MOST_REQUIREMENTS} packages`);
  return lines;
}

/** Native binaries. */
const COMPILED = /\.(so|pyd|dylib|dll)$/;

/**
 * Unpacks a wheel into the cache and returns its folder. Native binaries are omitted if `mayLack` is true.
 *
 * Throws a `Refusal` for native binaries in other wheels, and for files outside of the folder.
 */
export function unpackedWheel(
  wheel: Uint8Array,
  name: string,
  cache: string,
  { mayLack = false } = {},
): Promise<string> {
  const folder = join(cache, "wheels", digestOf(wheel));
  return shared(folder, async () => {
    if (await stat(folder).catch(() => undefined)) return folder;
    const files = filesOf(
      wheel,
      name,
      (path) => !path.endsWith("/") && !(mayLack && COMPILED.test(path)),
    );
    for (const path of Object.keys(files)) {
      if (COMPILED.test(path))
        throw new Refusal(`${name}: it is not in plain Python, as it has ${path}`);
      if (/^\/|\\|:|(^|\/)\.\.?(\/|$)/.test(path))
        throw new Refusal(`${name}: it has a file outside of its folder, ${path}`);
    }
    const unfinished = `${folder}.${process.pid}`;
    for (const [path, bytes] of Object.entries(files)) {
      const file = join(unfinished, path.replace(/^[^/]+\.data\/(?:purelib|platlib)\//, ""));
      try {
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, bytes);
      } catch (error) {
        await rm(unfinished, { recursive: true, force: true });
        // For example, the name is too long or is the name of a folder.
        const { code } = error as NodeJS.ErrnoException;
        throw new Refusal(
          `${name}: its file ${printable(beginningOf(path, 200))} cannot be written (${code})`,
        );
      }
    }
    await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true, force: true }));
    return folder;
  });
}

/** Files of a wheel, by path. Throws a `Refusal` if it is not a wheel or is too large. */
function filesOf(wheel: Uint8Array, name: string, keep: (path: string) => boolean) {
  let bytes = 0;
  let packed = 0;
  let files = 0;
  try {
    return unzipSync(wheel, {
      filter({ name: path, size, originalSize }) {
        if (!keep(path)) return false;
        bytes += originalSize;
        packed += size;
        files++;
        if (bytes > limits.sourceBytes || files > MOST_FILES) throw new RangeError("too large");
        if (packed > wheel.length) throw new TypeError("files that are the same bytes");
        return true;
      },
    });
  } catch (error) {
    throw new Refusal(
      error instanceof RangeError
        ? `${name}: unpacked it is larger than ${limits.sourceBytes} bytes or ${MOST_FILES} files, which is the limit`
        : `${name}: it is no wheel, as it cannot be unpacked`,
    );
  }
}
