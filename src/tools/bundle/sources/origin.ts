/** Reads sources of every kind: images, URLs, S3 objects and files. */
import { readFile, stat } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { limits } from "../limits.ts";
import { Refusal } from "../refusal.ts";
import { bodyOf, requestSource } from "./http.ts";
import { openImage, wasmOf, type OciImage } from "./image.ts";
import { AwsV4Signer } from "aws4fetch";

/** The content of a source. The wasm is fetched on demand, after the check of the signatures. */
interface SourceContent {
  /** Absent unless the source is an image; only images have signatures. */
  image?: OciImage;
  wasm(): Promise<Uint8Array<ArrayBuffer>>;
}

const schemeOf = (source: string) => /^([a-z][a-z0-9+.-]*):/i.exec(source)?.[1]?.toLowerCase();

export const isImage = (source: string) => schemeOf(source) === "oci";

/** The text of a source in the `servlet.json` of `folder`: a path is relative to that folder. */
export function sourceInManifest(source: string, folder: string): string {
  if (schemeOf(source) !== undefined && !isAbsolute(source)) return source;
  return relative(folder, resolve(source)).replaceAll("\\", "/");
}

/** Opens the source of the servlet in `folder`; with `pinned`, the image of this digest. Throws a `Refusal`. */
export async function openSource(
  source: string,
  folder: string,
  pinned?: string,
): Promise<SourceContent> {
  switch (schemeOf(source)) {
    case "oci": {
      const image = await openImage(source, pinned);
      return { image, wasm: () => wasmOf(image, source) };
    }
    case "https":
    case "http":
      return { wasm: () => download(source) };
    case "s3":
      return { wasm: () => s3Object(source) };
    case "file":
      return { wasm: async () => file(source, pathOf(source)) };
    case undefined:
      return { wasm: () => file(source, resolve(folder, source)) };
    default:
      // On Windows, a path may begin with a drive letter and a colon.
      if (isAbsolute(source)) return openSource(pathToFileURL(source).href, folder);
      throw new Refusal(
        `${source}: it is not a known kind of source: write oci://, https://, s3://, file:// or a path`,
      );
  }
}

async function download(source: string): Promise<Uint8Array<ArrayBuffer>> {
  if (!URL.canParse(source))
    throw new Refusal(`${source}: it is not a valid URL: write https://HOST/PATH`);
  const url = new URL(source);
  if (url.username !== "" || url.password !== "") {
    throw new Refusal(
      `${url.host}: a source with a password would be written into files: leave it out`,
    );
  }
  return bodyOf(await requestSource(url, { maxBytes: limits.sourceBytes }));
}

function pathOf(source: string): string {
  try {
    return fileURLToPath(source);
  } catch (error) {
    throw new Refusal(`${source}: it is not a path on this machine: ${(error as Error).message}`);
  }
}

async function file(source: string, path: string): Promise<Uint8Array<ArrayBuffer>> {
  const state = await stat(path).catch(() => undefined);
  if (state?.isFile() !== true) throw new Refusal(`${source}: there is no file ${path}`);
  if (state.size > limits.sourceBytes) {
    throw new Refusal(
      `${source}: it is larger than ${limits.sourceBytes} bytes, which is the limit`,
    );
  }
  return new Uint8Array(await readFile(path));
}

/**
 * The object at `s3://BUCKET/KEY`, with the credentials, region and endpoint in the AWS environment variables. A public
 * object needs no credentials.
 */
async function s3Object(source: string): Promise<Uint8Array<ArrayBuffer>> {
  const [, bucket = "", key = ""] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.+)$/.exec(source) ?? [];
  if (key === "") throw new Refusal(`${source}: it is not an object: write s3://BUCKET/KEY`);
  const { env } = process;
  const region = env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"] ?? "us-east-1";
  const endpoint = env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"];
  const url =
    endpoint === undefined
      ? new URL(`https://${bucket}.s3.${region}.amazonaws.com`)
      : new URL(`${endpoint.replace(/\/$/, "")}/${bucket}`);
  if (endpoint === undefined && bucket.includes(".")) {
    // The wildcard certificate does not cover bucket names with dots.
    url.hostname = `s3.${region}.amazonaws.com`;
    url.pathname = `/${bucket}`;
  }
  url.pathname += `/${key.split("/").map(encodeURIComponent).join("/")}`.slice(
    url.pathname.endsWith("/") ? 1 : 0,
  );
  const credentials = await signed(url, region);
  return bodyOf(await requestSource(url, { credentials, maxBytes: limits.sourceBytes }));
}

async function signed(url: URL, region: string): Promise<Record<string, string>> {
  const accessKeyId = process.env["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = process.env["AWS_SECRET_ACCESS_KEY"];
  if (accessKeyId === undefined || secretAccessKey === undefined) return {};
  const sessionToken = process.env["AWS_SESSION_TOKEN"];
  const signer = new AwsV4Signer({
    method: "GET",
    url: url.href,
    headers: { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" },
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: "s3",
    region,
  });
  const { headers } = await signer.sign();
  return Object.fromEntries(headers);
}
