/** Images in registries that contain a servlet. */
import { limits } from "../limits.ts";
import { Refusal } from "../refusal.ts";
import { wasmIn } from "./content.ts";
import { parseReference, Repository, type OciDescriptor, type OciManifest } from "./registry.ts";

/** An image, as named by a reference: a manifest, or an index of manifests. */
export interface OciImage {
  repository: Repository;
  /** Digest of the manifest or index. Signatures sign this digest. */
  digest: string;
  manifest: OciManifest;
}

/** The image that a source names; `pinned` selects a digest. Throws a `Refusal` if the registry has no such image. */
export async function openImage(source: string, pinned?: string): Promise<OciImage> {
  const reference = parseReference(source);
  const repository = new Repository(reference);
  const wanted = pinned ?? reference.digest ?? reference.tag;
  const found = await repository.manifest(wanted);
  if (found === undefined) {
    throw new Refusal(`${source}: the registry has no image ${wanted} there: look at its name`);
  }
  return { repository, ...found };
}

/** The wasm of the first layer that contains one. Throws a `Refusal` if there is none. */
export async function wasmOf({ repository, manifest }: OciImage, source: string) {
  const { layers = [] } =
    manifest.manifests === undefined
      ? manifest
      : await imageInIndex(repository, manifest.manifests, source);
  let room = limits.sourceBytes;
  for (const layer of layers) {
    const blob = await repository.blob(layer, room);
    const wasm = await wasmIn(blob, `${source}: its layer ${layer.digest}`);
    if (wasm !== undefined) return wasm;
    room -= blob.length;
  }
  throw new Refusal(
    `${source}: no layer of it has a servlet: a wasm, or a tar with plugin.wasm, is expected`,
  );
}

/** The manifest of one image of an index: that for wasm, else that for linux/amd64, else the first. */
async function imageInIndex(repository: Repository, all: OciDescriptor[], source: string) {
  const isForWasm = ({ platform }: OciDescriptor) =>
    ["wasm", "wasm32"].includes(platform?.architecture ?? "");
  const isForLinux = ({ platform }: OciDescriptor) =>
    platform?.os === "linux" && platform.architecture === "amd64";
  // Docker's builder adds attestations to the index, with an unknown platform.
  const images = all.filter(({ platform }) => platform?.architecture !== "unknown");
  const one = images.find(isForWasm) ?? images.find(isForLinux) ?? images[0];
  const found = one && (await repository.manifest(one.digest));
  if (found === undefined || found.manifest.manifests !== undefined) {
    throw new Refusal(
      `${source}: none of the images in its index exists: look at its name, or name one image by @sha256:…`,
    );
  }
  return found.manifest;
}
