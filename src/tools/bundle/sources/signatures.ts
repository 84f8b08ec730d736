/** cosign's signatures of images: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md */
import { createHash, createPublicKey, verify, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleFromJSON, type Bundle } from "@sigstore/bundle";
import { TrustedRoot } from "@sigstore/protobuf-specs";
import { getTrustedRoot } from "@sigstore/tuf";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import * as z from "zod";
import { fits } from "../../../server/kernel/core/glob.ts";
import { limits } from "../limits.ts";
import { jsonIn } from "../../../server/kernel/core/text.ts";
import { Refusal } from "../refusal.ts";
import type { OciImage } from "./image.ts";
import type { Signed } from "./lock.ts";
import { parsedJson, type OciDescriptor } from "./registry.ts";

/** The signer that is required. */
export type SignaturePolicy =
  | { by: "key"; key: string }
  | { by: "identity"; identity: string; issuer: string; trustedRoot?: string | undefined }
  | { by: "nobody" };

/** A signature found in the registry, not verified yet. */
interface Signature {
  /** The manifest digest in the signed text. */
  of: string | undefined;
  /** Verifies the signature with a public key. */
  isBy(key: KeyObject): boolean;
  /** The signature as a Sigstore bundle. Throws if it lacks a certificate or an entry in a transparency log. */
  bundle(): { bundle: Bundle; artifact?: Buffer };
}

const SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json";
const BUNDLE = /^application\/vnd\.dev\.sigstore\.bundle(\.v|\+json)/;
const SIGNATURES = 20;

/**
 * Verifies that the image has a signature as the policy requires; returns the signer. The policy `nobody` skips the
 * check. `cache` stores Sigstore's roots. Throws a `Refusal` if there is no such signature.
 */
export async function signedBy(
  image: OciImage,
  policy: SignaturePolicy,
  { source, cache }: { source: string; cache: string },
): Promise<Signed> {
  if (policy.by === "nobody") return policy;
  const signatures = await signaturesOf(image);
  const problems = new Set<string>();
  const check = await checker(policy, cache);
  for (const signature of signatures) {
    try {
      if (signature.of !== image.digest) throw new Error(`it is of ${signature.of ?? "no image"}`);
      return check(signature);
    } catch (error) {
      problems.add((error as Error).message);
    }
  }
  const who = policy.by === "key" ? "this key" : `${policy.identity} (issuer ${policy.issuer})`;
  throw new Refusal(
    signatures.length === 0
      ? `${source}: it is not signed: ask its author to, or add it with --allow-unsigned`
      : `${source}: it is not signed by ${who}: ${[...problems].join("; ")}`,
  );
}

/** A function that checks a signature against the policy, and throws the reason if the check fails. */
async function checker(
  policy: Exclude<SignaturePolicy, { by: "nobody" }>,
  cache: string,
): Promise<(signature: Signature) => Signed> {
  if (policy.by === "key") {
    const key = publicKey(policy.key);
    return (signature) => {
      if (signature.isBy(key)) return policy;
      throw new Error("the signature is by another key");
    };
  }
  const verifier = new Verifier(toTrustMaterial(await trustedRoot(policy.trustedRoot, cache)));
  return (signature) => {
    const { bundle, artifact } = signature.bundle();
    const { identity } = verifier.verify(toSignedEntity(bundle, artifact));
    const signer = identity?.subjectAlternativeName;
    const issuer = identity?.extensions?.issuer;
    if (signer === undefined || !fits(policy.identity, signer) || issuer !== policy.issuer) {
      throw new Error(`it is signed by ${signer} (issuer ${issuer})`);
    }
    const { by, identity: wanted, trustedRoot: root } = policy;
    return { by, identity: wanted, issuer, signer, ...(root && { trustedRoot: root }) };
  };
}

/** The public key in a PEM text. Throws a `Refusal`. */
export function publicKey(pem: string): KeyObject {
  try {
    if (!pem.includes("PUBLIC KEY")) throw new Error("no public key");
    return createPublicKey(pem);
  } catch {
    throw new Refusal("The key is not a public key in PEM: give the file cosign.pub");
  }
}

/** The trusted root of Sigstore's public instance, or of another instance from a file. */
async function trustedRoot(path: string | undefined, cache: string): Promise<TrustedRoot> {
  if (path !== undefined) {
    const text = await readFile(path, "utf8").catch(() => "");
    const value = jsonIn(text);
    if (value !== undefined) return TrustedRoot.fromJSON(value);
    throw new Refusal(`${path}: it is not a trusted root: give Sigstore's trusted_root.json`);
  }
  try {
    return await getTrustedRoot({ cachePath: join(cache, "sigstore") });
  } catch (error) {
    throw new Refusal(
      `Sigstore's root of trust could not be fetched: ${(error as Error).message}. Try again, or give a file with --trusted-root`,
    );
  }
}

async function signaturesOf(image: OciImage): Promise<Signature[]> {
  const { repository, digest } = image;
  const tagged = await repository.manifest(`${digest.replace(":", "-")}.sig`);
  const simple = (tagged?.manifest.layers ?? [])
    .filter(({ mediaType }) => mediaType === SIMPLE_SIGNING)
    .slice(0, SIGNATURES);
  const referrers = (await repository.referrers(digest))
    .filter(({ artifactType }) => artifactType === undefined || BUNDLE.test(artifactType))
    .slice(0, SIGNATURES);
  const bundles: OciDescriptor[] = [];
  for (const { digest: referrer } of referrers) {
    const found = await repository.manifest(referrer);
    bundles.push(
      ...(found?.manifest.layers ?? []).filter(({ mediaType }) => BUNDLE.test(mediaType)),
    );
  }
  const maxBytes = limits.sourceManifestBytes;
  return [
    ...(await Promise.all(
      simple.map(async (layer) => simpleSignature(layer, await repository.blob(layer, maxBytes))),
    )),
    ...(await Promise.all(
      bundles
        .slice(0, SIGNATURES)
        .map(async (layer) => bundleSignature(parsedJson(await repository.blob(layer, maxBytes)))),
    )),
  ];
}

const payloadSchema = z.object({
  critical: z.object({
    image: z.object({ "docker-manifest-digest": z.string() }),
    type: z.literal("cosign container image signature"),
  }),
});

const rekorSchema = z.object({
  SignedEntryTimestamp: z.string(),
  Payload: z.object({
    body: z.string(),
    integratedTime: z.number(),
    logIndex: z.number(),
    logID: z.string(),
  }),
});

/** cosign's older format: the payload is a layer; its signature and certificate are annotations. */
function simpleSignature({ annotations = {} }: OciDescriptor, payload: Uint8Array): Signature {
  const signature = annotations["dev.cosignproject.cosign/signature"] ?? "";
  const { data } = payloadSchema.safeParse(parsedJson(payload));
  return {
    of: data?.critical.image["docker-manifest-digest"],
    isBy(key) {
      const algorithm = key.asymmetricKeyType === "ed25519" ? null : "sha256";
      return verify(algorithm, payload, key, Buffer.from(signature, "base64"));
    },
    bundle() {
      const certificate = annotations["dev.sigstore.cosign/certificate"];
      const logged = rekorSchema.safeParse(jsonIn(annotations["dev.sigstore.cosign/bundle"] ?? ""));
      if (certificate === undefined) throw new Error("it has no certificate, only a key");
      if (!logged.success) throw new Error("it has no entry in a transparency log");
      const artifact = Buffer.from(payload);
      return { bundle: bundled(signature, certificate, logged.data, artifact), artifact };
    },
  };
}

/** A signature of the older format as a Sigstore bundle. */
function bundled(
  signature: string,
  certificate: string,
  { SignedEntryTimestamp, Payload }: z.infer<typeof rekorSchema>,
  artifact: Buffer,
): Bundle {
  const { kind, apiVersion } = z
    .object({ kind: z.string(), apiVersion: z.string() })
    .parse(parsedJson(Buffer.from(Payload.body, "base64")));
  const der = certificate.replaceAll(/-----[A-Z ]+-----|\s/g, "");
  return bundleFromJSON({
    mediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
    verificationMaterial: {
      x509CertificateChain: { certificates: [{ rawBytes: der }] },
      tlogEntries: [
        {
          logIndex: String(Payload.logIndex),
          logId: { keyId: Buffer.from(Payload.logID, "hex").toString("base64") },
          kindVersion: { kind, version: apiVersion },
          integratedTime: String(Payload.integratedTime),
          inclusionPromise: { signedEntryTimestamp: SignedEntryTimestamp },
          canonicalizedBody: Payload.body,
        },
      ],
    },
    messageSignature: {
      messageDigest: {
        algorithm: "SHA2_256",
        digest: createHash("sha256").update(artifact).digest("base64"),
      },
      signature,
    },
  });
}

const statementSchema = z.object({
  predicateType: z.literal("https://sigstore.dev/cosign/sign/v1"),
  subject: z.array(z.object({ digest: z.record(z.string(), z.string()) })).length(1),
});

/**
 * cosign's newer format: a Sigstore bundle with a signed statement. Other kinds of statements, such as provenance, do
 * not count as signatures.
 */
function bundleSignature(value: unknown): Signature {
  let bundle: Bundle | undefined;
  try {
    bundle = bundleFromJSON(value);
  } catch {
    // An invalid bundle has no digest, and is refused later.
  }
  const envelope = bundle?.content.$case === "dsseEnvelope" && bundle.content.dsseEnvelope;
  const isStatement = envelope && envelope.payloadType === "application/vnd.in-toto+json";
  const { data } = statementSchema.safeParse(
    isStatement ? parsedJson(envelope.payload) : undefined,
  );
  const [name, hex] = Object.entries(data?.subject[0]?.digest ?? {})[0] ?? [];
  return {
    of: name === undefined ? undefined : `${name}:${hex}`,
    isBy: (key) => toSignedEntity(bundle!).signature.verifySignature(key),
    bundle: () => ({ bundle: bundle! }),
  };
}
