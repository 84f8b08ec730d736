/** Signs images as cosign does: by a key or keyless, in its older form and its newer. */
import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { initializeCA, initializeCTLog, initializeTLog } from "@sigstore/mock";
import { HashAlgorithm, PublicKeyDetails, TrustedRoot } from "@sigstore/protobuf-specs";
import { sha256, type TestRegistry } from "./registry.ts";

export const BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json";
export const ISSUER = "https://token.actions.githubusercontent.com";
export const IDENTITY = "https://github.com/ada/time/.github/workflows/release.yml@refs/tags/v1";

export const keyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

export const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" });

const hex = (digest: string) => digest.slice("sha256:".length);
const base64 = (content: string | Uint8Array) => Buffer.from(content).toString("base64");

const payloadOf = (digest: string) =>
  Buffer.from(
    JSON.stringify({
      critical: {
        identity: { "docker-reference": "127.0.0.1/ada/time" },
        image: { "docker-manifest-digest": digest },
        type: "cosign container image signature",
      },
      optional: null,
    }),
  );

const SIMPLE = "application/vnd.dev.cosign.simplesigning.v1+json";

/** `cosign sign --key`, the older form; `of` is what the payload names. */
export function signByKey(
  registry: TestRegistry,
  repository: string,
  image: string,
  { key, of = image }: { key: KeyObject; of?: string },
): void {
  const bytes = payloadOf(of);
  const signature = sign("sha256", bytes, key).toString("base64");
  registry.image(repository, `${image.replace(":", "-")}.sig`, [
    {
      mediaType: SIMPLE,
      bytes,
      annotations: { "dev.cosignproject.cosign/signature": signature },
    },
  ]);
}

const statementOf = (digest: string, predicateType: string) =>
  Buffer.from(
    JSON.stringify({
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ digest: { sha256: hex(digest) } }],
      predicateType,
      predicate: {},
    }),
  );

const SIGN = "https://sigstore.dev/cosign/sign/v1";
const IN_TOTO = "application/vnd.in-toto+json";

/** https://github.com/secure-systems-lab/dsse/blob/master/protocol.md */
const encoded = (payload: Buffer) =>
  Buffer.concat([Buffer.from(`DSSEv1 ${IN_TOTO.length} ${IN_TOTO} ${payload.length} `), payload]);

/** The newer form: a bundle that refers to the image. */
function attach(registry: TestRegistry, repository: string, image: string, bundle: object): void {
  registry.image(
    repository,
    undefined,
    [{ mediaType: BUNDLE, bytes: Buffer.from(JSON.stringify(bundle)) }],
    { subject: image, artifactType: BUNDLE },
  );
}

/** The newer form by a key. */
export function bundleByKey(
  registry: TestRegistry,
  repository: string,
  image: string,
  key: KeyObject,
): void {
  const payload = statementOf(image, SIGN);
  const sig = sign("sha256", encoded(payload), key).toString("base64");
  attach(registry, repository, image, {
    mediaType: BUNDLE,
    verificationMaterial: { publicKey: { hint: "key" }, tlogEntries: [] },
    dsseEnvelope: {
      payload: base64(payload),
      payloadType: IN_TOTO,
      signatures: [{ sig, keyid: "" }],
    },
  });
}

/** An entry as Rekor gives it. */
interface Logged {
  body: string;
  integratedTime: number;
  logIndex: number;
  logID: string;
  verification: {
    signedEntryTimestamp: string;
    inclusionProof: { rootHash: string; checkpoint: string };
  };
}

/** A Sigstore of one's own: its trusted root, and keyless signatures. */
export async function sigstore() {
  const keys = keyPair();
  const ctlog = await initializeCTLog(keys);
  const ca = await initializeCA(keys, ctlog);
  const tlog = await initializeTLog("https://rekor.sigstore.dev", keys);
  const validFor = { start: new Date(Date.now() - 3_600_000), end: undefined };
  const log = (baseUrl: string, keyId: Uint8Array) => ({
    baseUrl,
    hashAlgorithm: HashAlgorithm.SHA2_256,
    logId: { keyId: Buffer.from(keyId) },
    checkpointKeyId: undefined,
    operator: "test",
    publicKey: {
      rawBytes: tlog.publicKey,
      keyDetails: PublicKeyDetails.PKIX_ECDSA_P256_SHA_256,
      validFor,
    },
  });
  const root = TrustedRoot.toJSON({
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    certificateAuthorities: [
      {
        subject: { commonName: "sigstore", organization: "sigstore.mock" },
        uri: "https://fulcio.sigstore.dev",
        certChain: { certificates: [{ rawBytes: bufferOf(ca.rootCertificate) }] },
        validFor,
        operator: "test",
      },
    ],
    tlogs: [log("https://rekor.sigstore.dev", Buffer.from(hex(sha256(tlog.publicKey)), "hex"))],
    ctlogs: [log("https://ctfe.sigstore.dev", bufferOf(ctlog.logID))],
    timestampAuthorities: [],
  });

  const certify = async (publicKey: KeyObject, identity: string) => {
    const der = await ca.issueCertificate({
      publicKey: new Uint8Array(publicKey.export({ type: "spki", format: "der" })),
      subjectAltName: identity,
      extensions: [
        { oid: "1.3.6.1.4.1.57264.1.1", value: ISSUER, legacy: true },
        { oid: "1.3.6.1.4.1.57264.1.8", value: ISSUER },
      ],
    });
    const raw = bufferOf(der).toString("base64");
    return {
      raw,
      pem: `-----BEGIN CERTIFICATE-----\n${raw.match(/.{1,64}/g)!.join("\n")}\n-----END CERTIFICATE-----\n`,
    };
  };
  const logged = async (entry: object) => {
    const [only] = Object.values((await tlog.log(entry)) as Record<string, Logged>);
    const { body, integratedTime, logIndex, logID, verification } = only!;
    return { body, integratedTime, logIndex, logID, ...verification };
  };

  return {
    root: JSON.stringify(root),
    /** `cosign sign`, the older form. */
    async sign(
      registry: TestRegistry,
      repository: string,
      image: string,
      { identity = IDENTITY, withLog = true } = {},
    ): Promise<void> {
      const { publicKey, privateKey } = keyPair();
      const certificate = await certify(publicKey, identity);
      const bytes = payloadOf(image);
      const content = sign("sha256", bytes, privateKey).toString("base64");
      const entry = await logged({
        apiVersion: "0.0.1",
        kind: "hashedrekord",
        spec: {
          signature: { content, publicKey: { content: base64(certificate.pem) } },
          data: { hash: { algorithm: "sha256", value: hex(sha256(bytes)) } },
        },
      });
      const { body, integratedTime, logIndex, logID } = entry;
      const proof = {
        SignedEntryTimestamp: entry.signedEntryTimestamp,
        Payload: { body, integratedTime, logIndex, logID },
      };
      registry.image(repository, `${image.replace(":", "-")}.sig`, [
        {
          mediaType: SIMPLE,
          bytes,
          annotations: {
            "dev.cosignproject.cosign/signature": content,
            "dev.sigstore.cosign/certificate": certificate.pem,
            ...(withLog && { "dev.sigstore.cosign/bundle": JSON.stringify(proof) }),
          },
        },
      ]);
    },
    /** The newer form; another predicate makes it another statement than a signature. */
    async bundle(
      registry: TestRegistry,
      repository: string,
      image: string,
      { identity = IDENTITY, predicate = SIGN } = {},
    ): Promise<void> {
      const { publicKey, privateKey } = keyPair();
      const certificate = await certify(publicKey, identity);
      const payload = statementOf(image, predicate);
      const sig = sign("sha256", encoded(payload), privateKey).toString("base64");
      const entry = await logged({
        apiVersion: "0.0.1",
        kind: "dsse",
        spec: {
          payloadHash: { algorithm: "sha256", value: hex(sha256(payload)) },
          signatures: [{ signature: sig, verifier: base64(certificate.pem) }],
        },
      });
      const proof = entry.inclusionProof;
      attach(registry, repository, image, {
        mediaType: BUNDLE,
        verificationMaterial: {
          certificate: { rawBytes: certificate.raw },
          tlogEntries: [
            {
              logIndex: String(entry.logIndex),
              logId: { keyId: Buffer.from(entry.logID, "hex").toString("base64") },
              kindVersion: { kind: "dsse", version: "0.0.1" },
              integratedTime: String(entry.integratedTime),
              inclusionPromise: { signedEntryTimestamp: entry.signedEntryTimestamp },
              inclusionProof: {
                logIndex: "0",
                rootHash: Buffer.from(proof.rootHash, "hex").toString("base64"),
                treeSize: "1",
                hashes: [],
                checkpoint: { envelope: proof.checkpoint },
              },
              canonicalizedBody: entry.body,
            },
          ],
        },
        dsseEnvelope: {
          payload: base64(payload),
          payloadType: IN_TOTO,
          signatures: [{ sig, keyid: "" }],
        },
      });
    },
  };
}

const bufferOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  Buffer.from(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
