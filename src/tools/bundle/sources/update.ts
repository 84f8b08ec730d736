/** Compares pinned servlets with the current content of their sources. */
import { dirname, resolve } from "node:path";
import {
  accountsOf,
  CONFIRMED,
  secretsOf,
  settingsOf,
} from "../../../server/features/installs/permissions.ts";
import { printable } from "../../../server/kernel/core/text.ts";
import { bundleAll, type Making } from "../bundle.ts";
import { asPlugin } from "../component/plugin.ts";
import { compare, listLinesOf, type BuildLines } from "../differences.ts";
import { Refusal } from "../refusal.ts";
import type { FoundServlet } from "../scan.ts";
import { outline } from "../wasm/binary.ts";
import { fetchPin, policyOf, type Trust } from "./add.ts";
import { readPin, writePin, type Pin, type Signed } from "./lock.ts";
import { isImage } from "./origin.ts";
import { cachedPath, cacheWasm, pinnedWasm } from "./pinned.ts";
import { parseReference } from "./registry.ts";
import type { SignaturePolicy } from "./signatures.ts";

/** The newer version of a servlet. */
interface Update {
  /** Differences, as lines of a diff; empty if the wasm is the same. */
  changes: string[];
  accept(): void;
}

/**
 * Fetches the current content of a servlet's source, and compares it with the pinned version. It must be signed as
 * `trust` says, or else like the pinned version. Throws a `Refusal`, also if the newer version could not be bundled.
 */
export async function updateOf(
  found: FoundServlet,
  trust: Trust,
  options: Making,
): Promise<Update> {
  const { name, place, source } = found;
  const origin = source.origin!;
  const { cache, progress } = options;
  const parent = dirname(resolve(place));
  const before: Pin | undefined = readPin(parent, name);
  const isTrustGiven = Object.values(trust).some((one) => one !== undefined && one !== false);
  const kept = isTrustGiven ? undefined : keptPolicy(before, origin);
  const policy = kept ?? (await policyOf(origin, trust));
  progress(`${name}: fetching ${origin}`);
  const { pin, wasm } = await fetchPin(origin, { folder: place, policy, cache });
  await cacheWasm(cache, wasm, pin.digest);
  const accept = () => writePin(parent, name, pin);
  if (before?.digest === pin.digest) return { changes: [], accept };

  const at = (digest: string) => ({ kind: "wasm" as const, files: [cachedPath(cache, digest)] });
  const old = await oldWasm(found, before, options);
  const oldView =
    old &&
    (await viewOf({ ...found, source: at(before!.digest) }, old, options).catch(() => undefined));
  const newView = await viewOf({ ...found, source: at(pin.digest) }, wasm, options);
  const changes = [
    `${name}: ${origin}`,
    ...(before === undefined ? [] : [`- ${describePin(before)}`]),
    `+ ${describePin(pin)}`,
    ...(before !== undefined && oldView === undefined
      ? ["  The pinned version is no longer available, so everything is shown as new."]
      : []),
    ...compare(oldView ?? new Map(), newView),
    ...permissionLines(found),
  ];
  return { changes: changes.map(printable), accept };
}

/** The signature policy of the pinned version; undefined if it does not apply to this source. */
function keptPolicy(before: Pin | undefined, source: string): SignaturePolicy | undefined {
  if (before === undefined || !isImage(before.source) || !isImage(source)) return undefined;
  // The permission for an unsigned image applies only to its own repository.
  const isKept =
    before.signed.by !== "nobody" || repositoryOf(before.source) === repositoryOf(source);
  return isKept ? before.signed : undefined;
}

function repositoryOf(source: string): string {
  const { registry, repository } = parseReference(source);
  return `${registry}${repository}`;
}

const oldWasm = async (found: FoundServlet, before: Pin | undefined, { cache, progress }: Making) =>
  before &&
  pinnedWasm(found.place, before.source, cache, progress).catch((error: unknown) => {
    if (error instanceof Refusal) return undefined;
    throw error;
  });

const describePin = ({ digest, size, signed }: Pin) =>
  `${digest}, ${size} bytes, ${signerOf(signed)}`;

/** The signer, for messages. */
export function signerOf(signed: Signed): string {
  switch (signed.by) {
    case "key":
      return "signed by the key in the lock file";
    case "identity":
      return `signed by ${signed.signer} (issuer ${signed.issuer})`;
    case "nobody":
      return "not signed";
  }
}

/** Everything that a servlet lists, as lines of JSON, and the host functions that it imports. */
async function viewOf(
  found: FoundServlet,
  wasm: Uint8Array<ArrayBuffer>,
  options: Making,
): Promise<BuildLines> {
  const [member] = await bundleAll([found], options);
  const { cache, progress } = options;
  const functions = outline(await asPlugin(wasm, found.manifest, cache, progress))
    .imports.filter(({ module }) => module !== "wasi_snapshot_preview1")
    .map(({ module, name }): [string, string[]] => [`host function ${module}.${name}`, []]);
  const lists = member?.lists === undefined ? [] : listLinesOf(member.lists);
  return new Map([...lists, ...functions]);
}

/** The permissions in a servlet's manifest. An update does not change them. */
function permissionLines({ manifest }: FoundServlet): string[] {
  const hosts = manifest.allowed_hosts ?? [];
  const paths = manifest.allowed_paths ?? [];
  const { may_call: calls = [], confirm_calls: which } = manifest;
  const confirmed = which === undefined ? [] : [CONFIRMED[which]];
  const [secrets, settings] = [secretsOf(manifest), settingsOf(manifest)];
  const some = (all: string[]) => (all.length > 0 ? all.join(", ") : "none");
  return [
    `  It may reach as before: hosts ${some(hosts)}; secrets ${some(secrets)}; paths ${some(paths)}`,
    `  It may call as before: ${some(calls)}; its callers must allow first: ${some(confirmed)}`,
    `  It gets as before: accounts ${some(accountsOf(manifest))}; settings ${some(settings)}`,
  ];
}
