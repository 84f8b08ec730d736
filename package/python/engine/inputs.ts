/** What python.bin is made of: files that are pinned by their digests, from PyPI and Debian. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { unzipSync } from "fflate";
import { readIfThere, writeWhole } from "../../../src/tools/bundle/cache.ts";
import { limits } from "../../../src/tools/bundle/limits.ts";
import { requestSource } from "../../../src/tools/bundle/sources/http.ts";

/** Versions in python.bin, which `npm run outdated` compares with the newest ones. */
export const VERSIONS = {
  /** CPython's interpreter and all that is written in C, but for Expat. */
  interpreter: "3.14.0",
  /** CPython's library in Python. */
  library: "3.14.10",
  expat: "2.8.3",
  /** The wheel that has the interpreter. */
  componentize: "0.25.1",
};

/** Debian's archive. */
export const DEBIAN = "https://deb.debian.org/debian";

/** A file where it is published, and its digest. */
interface Pin {
  url: string;
  sha256: string;
}

/** componentize-py, which has CPython as a shared library of Wasm in it. */
const WHEEL: Pin = {
  url: `https://files.pythonhosted.org/packages/ed/c6/ad1431751ff1969a132323f6e2797ec38ccdf9d0a53aabb45d79221092a4/componentize_py-${VERSIONS.componentize}-cp39-abi3-manylinux_2_28_x86_64.whl`,
  sha256: "8623cd8cab8453cb0cd8bf03f3c7103420d06f2f3d360186a280a70a1ca5e89f",
};
const MEMBER = "componentize_py/componentize_py.abi3.so";
/** Where in that member it is, compressed with zstd. */
const LIBPYTHON = { from: 2_781_043, bytes: 2_367_858 };
/** The library in Python of the newest 3.14, as Debian has it. */
const STANDARD_LIBRARY: Pin[] = [
  {
    url: `${DEBIAN}/pool/main/p/python3.14/libpython3.14-stdlib_${VERSIONS.library}-1_amd64.deb`,
    sha256: "0af595928d7a49c12fe33d5667da95dc2fa9868e1a9a00625428074d3b3d458a",
  },
  {
    url: `${DEBIAN}/pool/main/p/python3.14/libpython3.14-minimal_${VERSIONS.library}-1_amd64.deb`,
    sha256: "a59bb22e16dde6f441b892cdfd058dd93d8149cf437a31d8985dcca3cf407367",
  },
];
const LIBRARY_FOLDER = "./usr/lib/python3.14/";
/** Expat's sources, whose functions take the place of those in the library of Wasm. */
const EXPAT: Pin = {
  url: `${DEBIAN}/pool/main/e/expat/expat_${VERSIONS.expat}.orig.tar.gz`,
  sha256: "533659a16e0184035a99fd8e783f1ad61a887a7bf8586a8681740b9d7ed42389",
};

/** A file by its digest, from the cache or from where it is published. */
async function input({ url, sha256 }: Pin, cache: string): Promise<Uint8Array> {
  const path = join(cache, `${sha256}.input`);
  let bytes = await readIfThere(path);
  if (bytes === undefined) {
    const { status, body } = await requestSource(new URL(url), { maxBytes: limits.sourceBytes });
    if (status !== 200)
      throw new Error(
        `${url}: ${status}. package/python/README.md says what to do when it is gone`,
      );
    await writeWhole(path, body);
    bytes = new Uint8Array(body);
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (digest !== sha256) throw new Error(`${url} has the digest ${digest}`);
  return bytes;
}

/** CPython, as a shared library of Wasm. */
export async function libpython(cache: string): Promise<Uint8Array> {
  const wheel = unzipSync(await input(WHEEL, cache), { filter: ({ name }) => name === MEMBER });
  const { from, bytes } = LIBPYTHON;
  return new Uint8Array(zstdDecompressSync(wheel[MEMBER]!.subarray(from, from + bytes)));
}

/** The modules of the standard library by their paths. */
export async function standardLibrary(cache: string): Promise<Map<string, Uint8Array>> {
  const packages = await Promise.all(STANDARD_LIBRARY.map((pin) => input(pin, cache)));
  return new Map(
    packages.flatMap((deb) =>
      [...debFiles(deb)].flatMap(([path, bytes]) =>
        path.startsWith(LIBRARY_FOLDER) && path.endsWith(".py")
          ? [[path.slice(LIBRARY_FOLDER.length), bytes] as const]
          : [],
      ),
    ),
  );
}

/** Expat's sources and headers by their names. */
export async function expat(cache: string): Promise<Map<string, Uint8Array>> {
  const files = untarred(gunzipSync(await input(EXPAT, cache)));
  return new Map(
    [...files].flatMap(([path, bytes]) => {
      const [, name] = /\/expat\/lib\/(\w+\.[ch])$/.exec(path) ?? [];
      return name === undefined ? [] : [[name, bytes] as const];
    }),
  );
}

/** The files of a package of Debian: https://manpages.debian.org/deb.5 */
export function* debFiles(deb: Uint8Array): Generator<[string, Uint8Array]> {
  const text = (from: number, length: number) =>
    new TextDecoder().decode(deb.subarray(from, from + length)).trim();
  for (let at = 8; at < deb.length;) {
    const size = Number(text(at + 48, 10));
    const member = deb.subarray(at + 60, at + 60 + size);
    if (text(at, 16).startsWith("data.tar.xz")) yield* untarred(unxz(member));
    at += 60 + size + (size % 2);
  }
}

/** Decompresses by the command `xz`. */
export const unxz = (bytes: Uint8Array): Uint8Array =>
  execFileSync("xz", ["-dc"], { input: bytes, maxBuffer: 2 ** 28 });

/** The files of a tar archive whose names are short: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06 */
function* untarred(archive: Uint8Array): Generator<[string, Uint8Array]> {
  const text = (from: number, length: number) =>
    new TextDecoder().decode(archive.subarray(from, from + length)).replace(/\0.*$/s, "");
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const prefix = text(at + 345, 155);
    const name = text(at, 100);
    if (archive[at + 156] === 0x30)
      yield [prefix ? `${prefix}/${name}` : name, archive.subarray(at + 512, at + 512 + size)];
    at += 512 + Math.ceil(size / 512) * 512;
  }
}
