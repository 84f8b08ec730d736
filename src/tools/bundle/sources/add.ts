/** Adds and removes servlets whose wasm comes from a registry, a URL, S3 or a file. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { Refusal } from "../refusal.ts";
import { checkManifest, readManifest } from "../scan.ts";
import { refuseName, refuseTaken } from "../servlet-name.ts";
import { textIfThere } from "../text-file.ts";
import { demandServlet } from "./content.ts";
import { ociDigestOf, writePin, type Pin, type Signed } from "./lock.ts";
import { isImage, openSource, sourceInManifest } from "./origin.ts";
import { cacheWasm } from "./pinned.ts";
import { publicKey, signedBy, type SignaturePolicy } from "./signatures.ts";

/** Who must have signed an image. */
export interface Trust {
  /** Path of a public key. */
  key?: string;
  /** Glob for the identity in the certificate of a keyless signature; `issuer` is its OIDC issuer. */
  identity?: string;
  issuer?: string;
  /** Path of the trusted root of another Sigstore instance. */
  trustedRoot?: string;
  allowUnsigned?: boolean;
}

/** The command-line options for trusted signers. */
export const TRUST_OPTIONS = {
  key: { type: "string" },
  identity: { type: "string" },
  issuer: { type: "string" },
  "trusted-root": { type: "string" },
  "allow-unsigned": { type: "boolean" },
} as const;

/** The trust that the options select; empty without options. */
export function trustIn(given: {
  [name in keyof typeof TRUST_OPTIONS]?: string | boolean | undefined;
}): Trust {
  const { key, identity, issuer } = given;
  const all = {
    key,
    identity,
    issuer,
    trustedRoot: given["trusted-root"],
    allowUnsigned: given["allow-unsigned"],
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export interface AddOptions extends Trust {
  name: string;
  /** The servlet is added to the first folder. No folder may have a servlet of its name. */
  folders: readonly string[];
  cache: string;
  progress(text: string): void;
  /** Further members of the servlet's servlet.json. */
  manifest?: object;
}

/**
 * Fetches and verifies a source; writes its pin into the lock file, and a folder with a manifest. Throws a `Refusal`,
 * and then changes nothing.
 */
export async function addSource(source: string, options: AddOptions): Promise<{ folder: string }> {
  const { name, folders, cache, progress } = options;
  refuseName(name, /^[A-Za-z][A-Za-z0-9_-]*$/, "letters, digits, _ and -");
  refuseTaken(name, folders);
  const folder = join(folders[0]!, name);
  const from = sourceInManifest(source, folder);
  const policy = await policyOf(source, options);
  progress(`${name}: fetching ${source}`);
  const { pin, wasm } = await fetchPin(from, { folder, policy, cache });
  const schema = relative(folder, join(import.meta.dirname, "../servlet.schema.json"));
  const content = { $schema: schema.replaceAll("\\", "/"), source: from, ...options.manifest };
  checkManifest(join(folder, "servlet.json"), content);
  await cacheWasm(cache, wasm, pin.digest);
  // The folder appears complete or not at all, and after the pin, because a pin without a folder has no effect.
  const unfinished = join(folders[0]!, `.${name}.${process.pid}`);
  await mkdir(unfinished, { recursive: true });
  try {
    await writeFile(join(unfinished, "servlet.json"), `${JSON.stringify(content, null, 2)}\n`);
    writePin(folders[0]!, name, pin);
    await rename(unfinished, folder);
  } catch (error) {
    writePin(folders[0]!, name, undefined);
    await rm(unfinished, { recursive: true });
    throw error;
  }
  return { folder };
}

/** Fetches and verifies the current content of a source. The pin is its entry in the lock file. */
export async function fetchPin(
  source: string,
  { folder, policy, cache }: { folder: string; policy: SignaturePolicy; cache: string },
): Promise<{ pin: Pin; wasm: Uint8Array<ArrayBuffer> }> {
  const { image, wasm: read } = await openSource(source, folder);
  const signed: Signed =
    image === undefined ? { by: "nobody" } : await signedBy(image, policy, { source, cache });
  const wasm = await read();
  await demandServlet(wasm, source);
  const pin: Pin = {
    source,
    ...(image !== undefined && { manifest: image.digest }),
    digest: ociDigestOf(wasm),
    size: wasm.length,
    signed,
  };
  return { pin, wasm };
}

/** Who must have signed a source. Throws a `Refusal` if a signer is required and none is named. */
export async function policyOf(source: string, trust: Trust): Promise<SignaturePolicy> {
  const { key, identity, issuer, trustedRoot, allowUnsigned = false } = trust;
  const isKeyless = identity !== undefined || issuer !== undefined;
  if (!isImage(source)) {
    if (key === undefined && !isKeyless) return { by: "nobody" };
    throw new Refusal(
      `${source}: only oci:// sources can be signed: leave out --key, --identity and --issuer`,
    );
  }
  if (key !== undefined && isKeyless) {
    throw new Refusal("Give either --key, or --identity and --issuer");
  }
  if (key !== undefined) {
    const pem = await readFile(key, "utf8").catch(() => {
      throw new Refusal(`${key}: there is no such file: give the path of the public key`);
    });
    return { by: "key", key: publicKey(pem).export({ type: "spki", format: "pem" }) };
  }
  if (identity !== undefined && issuer !== undefined) {
    return { by: "identity", identity, issuer, ...(trustedRoot && { trustedRoot }) };
  }
  if (isKeyless)
    throw new Refusal("Give both --identity (who signed) and --issuer (who vouches for them)");
  if (allowUnsigned) return { by: "nobody" };
  throw new Refusal(
    `${source}: say who must have signed it, by --key cosign.pub or by --identity and --issuer, or give --allow-unsigned`,
  );
}

/** Removes a servlet that was added, and its pin; returns its folder. Throws a `Refusal`. */
export async function removeSource(name: string, folders: readonly string[]): Promise<string> {
  for (const parent of folders) {
    const folder = join(parent, name);
    const text = await textIfThere(join(folder, "servlet.json"));
    if (text === undefined || name === "" || /[/\\]/.test(name)) continue;
    const others = (await readdir(folder)).filter((file) => file !== "servlet.json");
    const { source } = await readManifest(join(folder, "servlet.json"), text);
    if (source === undefined) {
      throw new Refusal(`${folder}: it was not added from a source: delete its folder yourself`);
    }
    if (others.length > 0) {
      throw new Refusal(`${folder}: it also has ${others.join(", ")}: move them away first`);
    }
    await rm(folder, { recursive: true });
    writePin(parent, name, undefined);
    return folder;
  }
  throw new Refusal(
    `There is no servlet ${name} that was added: \`npm run servlets -- list\` shows all`,
  );
}
