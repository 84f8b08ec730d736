/** Objects in S3 and stores like it. */
import { AwsV4Signer } from "aws4fetch";
import { limits } from "../../core/limits.ts";
import { Refusal } from "../refusal.ts";
import { bodyOf, requestSource } from "./http.ts";

/**
 * The object at `s3://BUCKET/KEY`, with the credentials, region and endpoint that the AWS environment variables
 * give; without credentials, if it is public.
 */
export async function s3Object(source: string): Promise<Uint8Array<ArrayBuffer>> {
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
    // Certificates do not cover hosts with more dots.
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
