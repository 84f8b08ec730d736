import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { isDigest, readBuild, type Build } from "./build.ts";

/** The bucket of builds; undefined if it is not bound. */
export interface BuildsEnv {
  BUILDS?: R2Bucket;
}

export const bucketOf = ({ BUILDS }: BuildsEnv): BuildBucket | undefined =>
  BUILDS && new BuildBucket(BUILDS);

/** The R2 bucket `BUILDS`: `parts/SHA256` has the bytes of a part, `builds/HASH.json` the last build with this hash. */
export class BuildBucket {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  /** Stores a part. Throws `invalid_request` if its bytes do not match the digest, `too_large` beyond `limits.partBytes`. */
  async putPart(digest: string, body: ReadableStream<Uint8Array>, length: number): Promise<void> {
    if (!isDigest(digest)) {
      throw new Fault(
        "invalid_request",
        "The path does not name a part. Expected part/SHA256: the digest in 64 lowercase hex digits.",
      );
    }
    if (!Number.isSafeInteger(length) || length <= 0) {
      throw new Fault(
        "invalid_request",
        "The length of the part is missing or not positive. Send it as Content-Length.",
      );
    }
    if (length > limits.partBytes) {
      throw new Fault(
        "too_large",
        `The part has ${length} bytes (limit ${limits.partBytes}). Make the servlet smaller.`,
      );
    }
    try {
      await this.#bucket.put(partKey(digest), body, { sha256: digest });
    } catch (cause) {
      throw new Fault(
        "invalid_request",
        `The part was not stored: it was cut off, or its bytes do not match the digest ${digest}. Send it again.`,
        { cause },
      );
    }
  }

  /** Returns the digests whose part is missing or was put before `since` (Unix ms). */
  async missing(digests: readonly string[], since = 0): Promise<string[]> {
    const found = await Promise.all(digests.map((digest) => this.#bucket.head(partKey(digest))));
    return digests.filter((_, at) => (found[at]?.uploaded.getTime() ?? -1) < since);
  }

  /** The bytes of a part, or a range of them. Throws `unavailable` if the part is missing. */
  async part(digest: string, range?: { offset: number; length: number }): Promise<ArrayBuffer> {
    const found = await this.#bucket.get(partKey(digest), range && { range });
    if (found !== null) return found.arrayBuffer();
    throw new Fault(
      "unavailable",
      "The code of this servlet is missing from the bucket of builds. An operator can restore it by installing the servlet again.",
    );
  }

  /** Stores a build under its hash, replacing any earlier one. */
  async putBuild(build: Build): Promise<void> {
    await this.#bucket.put(buildKey(build.hash), JSON.stringify(build));
  }

  /** The build with this hash; undefined if it is not stored. Throws `invalid_params` if it cannot be read. */
  async build(hash: string): Promise<Build | undefined> {
    const found = await this.#bucket.get(buildKey(hash));
    return found === null ? undefined : readBuild(await found.json());
  }

  /** The hashes of all stored builds. */
  async hashes(): Promise<string[]> {
    const keys = await this.#list("builds/");
    return keys.map(({ key }) => /^builds\/(\w+)\.json$/.exec(key)?.[1] ?? "").filter(Boolean);
  }

  async deleteBuild(hash: string): Promise<void> {
    await this.#bucket.delete(buildKey(hash));
  }

  /** Deletes the parts that are not among these digests and were put before `before` (Unix ms). */
  async deletePartsBut(digests: ReadonlySet<string>, before: number): Promise<void> {
    const all = await this.#list("parts/");
    const old = all.filter(
      ({ key, uploaded }) =>
        uploaded.getTime() < before && !digests.has(key.slice("parts/".length)),
    );
    // R2 deletes at most 1000 keys in one request.
    for (let at = 0; at < old.length; at += 1000) {
      await this.#bucket.delete(old.slice(at, at + 1000).map(({ key }) => key));
    }
  }

  async #list(prefix: string): Promise<R2Object[]> {
    const all: R2Object[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await this.#bucket.list({ prefix, ...(cursor !== undefined && { cursor }) });
      all.push(...page.objects);
      if (!page.truncated) return all;
      cursor = page.cursor;
    }
  }
}

const partKey = (digest: string) => `parts/${digest}`;
const buildKey = (hash: string) => `builds/${hash}.json`;
