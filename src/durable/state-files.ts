import { filesIn } from "../files/archive.ts";
import type { FileStore } from "../files/file-store.ts";
import type { Files } from "../files/files.ts";
import { parseMounts } from "../files/mounts.ts";
import type { BundledServlet } from "../servlets/bundle.ts";
import { memoryBytes } from "../servlets/manifest.ts";

/** The folders of a servlet for one call; undefined if it has none. `continues`: its memory is that of the last call. */
export function filesFor(
  { manifest, files = {} }: BundledServlet,
  store: FileStore,
  continues: boolean,
): Files | undefined {
  const mounts = parseMounts(manifest.allowed_paths ?? []);
  if (mounts.length === 0) return undefined;
  const initial = Object.fromEntries(
    Object.entries(files).map(([host, { digest, archive }]) => [
      host,
      { digest, files: () => filesIn(archive) },
    ]),
  );
  return store.begin(mounts, {
    now: BigInt(Date.now()) * 1_000_000n,
    initial,
    continues,
    most: memoryBytes(manifest.files_limit ?? ""),
  });
}
