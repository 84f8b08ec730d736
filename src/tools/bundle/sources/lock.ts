/** The lock file beside the folders of servlets: the accepted content of each source, by digest, and its signer. */
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { textIfThereSync } from "../text-file.ts";

export const LOCK_FILE = "servlets.lock.json";

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$|^sha512:[0-9a-f]{128}$/);

/** Who signed an image, and who must sign its next version. */
const signedSchema = z.discriminatedUnion("by", [
  z.strictObject({ by: z.literal("key"), key: z.string() }),
  z.strictObject({
    by: z.literal("identity"),
    /** A glob that matches the signer. */
    identity: z.string(),
    issuer: z.string(),
    signer: z.string(),
    /** Path of the trusted root of another Sigstore instance. */
    trustedRoot: z.string().optional(),
  }),
  z.strictObject({ by: z.literal("nobody") }),
]);

const pinSchema = z.strictObject({
  source: z.string(),
  /** Digest of the image's manifest or index. */
  manifest: digest.optional(),
  /** Digest and size of the wasm, in bytes. */
  digest,
  size: z.number(),
  signed: signedSchema,
});

const lockSchema = z.strictObject({
  version: z.literal(1),
  servlets: z.record(z.string(), pinSchema),
});

export type Signed = z.infer<typeof signedSchema>;
export type Pin = z.infer<typeof pinSchema>;

/** The digest of the bytes, by SHA-256 or the algorithm of the digest `like`. */
export function ociDigestOf(bytes: Uint8Array, like = "sha256:"): string {
  const algorithm = like.startsWith("sha512:") ? "sha512" : "sha256";
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** The pins of the servlets in this folder, by their names. Throws a `Refusal` for a lock file that cannot be read. */
function readPins(folder: string): Record<string, Pin> {
  const path = join(folder, LOCK_FILE);
  const text = textIfThereSync(path);
  if (text === undefined) return {};
  try {
    return lockSchema.parse(JSON.parse(text)).servlets;
  } catch (error) {
    const why =
      error instanceof z.ZodError
        ? error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ")
        : (error as Error).message;
    throw new Refusal(
      `${path}: it is not a lock file of this version: ${why}. Take it from version control again`,
    );
  }
}

/** The pin of one servlet; undefined if it has none. */
export function readPin(folder: string, name: string): Pin | undefined {
  const pins = readPins(folder);
  return Object.hasOwn(pins, name) ? pins[name] : undefined;
}

/** Sets or removes a servlet's pin. Reads and writes synchronously, so that concurrent changes are not lost. */
export function writePin(folder: string, name: string, pin: Pin | undefined): void {
  const { [name]: _before, ...others } = readPins(folder);
  const all = Object.entries(pin === undefined ? others : { ...others, [name]: pin });
  const servlets = Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const path = join(folder, LOCK_FILE);
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, `${JSON.stringify({ version: 1, servlets }, null, 2)}\n`);
  renameSync(unfinished, path);
}
