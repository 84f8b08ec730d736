/** Languages whose compilers do not come with the project: how to recognise a servlet's sources and how to build them. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** A program that a build needs. */
interface Tool {
  name: string;
  /** Where or how to get it. */
  get: string;
  isThere(): Promise<boolean>;
}

export interface Toolchain {
  language: string;
  needs: readonly Tool[];
  /** The file that shows a servlet in this language, and the command that builds it in its folder; the template's first. */
  builds: readonly [Build, ...Build[]];
  /** Matches the names of its sources, which are in the servlet's folder and in its `src`. */
  sources: RegExp;
  /** Folders below the servlet's into which a build writes the plugin, if not beside the sources. */
  outputs: readonly string[];
}

/** A servlet that was found in the folder `place`. */
interface Built {
  place: string;
  source: { kind: string; files: readonly string[] };
}

interface Build {
  sign: string;
  command: string;
}

export const TOOLCHAINS = {
  rust: {
    language: "Rust",
    needs: [
      { name: "cargo", get: "https://rustup.rs", isThere: runs("cargo", "--version") },
      {
        name: "the target wasm32-unknown-unknown",
        get: "rustup target add wasm32-unknown-unknown",
        isThere: isRustTargetThere,
      },
    ],
    builds: [
      { sign: "Cargo.toml", command: "cargo build --release --target wasm32-unknown-unknown" },
    ],
    sources: /\.rs$|^Cargo\.toml$/,
    outputs: ["target/wasm32-unknown-unknown/release", "target/wasm32-wasip1/release"],
  },
  go: {
    language: "Go",
    needs: [{ name: "Go 1.24 or newer", get: "https://go.dev/dl", isThere: runs("go", "version") }],
    builds: [
      {
        sign: "go.mod",
        command: "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o servlet.wasm .",
      },
    ],
    sources: /\.go$|^go\.mod$/,
    outputs: [],
  },
  zig: {
    language: "Zig",
    needs: [
      {
        name: "Zig 0.15 or newer",
        get: 'https://ziglang.org/download, or "pip install ziglang" and "python -m ziglang" instead of "zig"',
        isThere: runs("zig", "version"),
      },
    ],
    builds: [
      {
        sign: "servlet.zig",
        command:
          "zig build-exe servlet.zig -target wasm32-freestanding -O ReleaseSmall -fno-entry -rdynamic",
      },
      { sign: "build.zig", command: "zig build" },
    ],
    sources: /\.zig$/,
    outputs: ["zig-out/bin"],
  },
} as const satisfies Record<string, Toolchain>;

/** A checkout writes sources and plugins in any order; differences this small mean nothing. */
const CHECKOUT_MS = 2000;

const ALL: readonly Toolchain[] = Object.values(TOOLCHAINS);

/** The command that builds the sources in this folder, and the file that shows their language; undefined without any. */
export function buildCommandOf(names: readonly string[]): Build | undefined {
  return ALL.flatMap(({ builds }) => builds).find(({ sign }) => names.includes(sign));
}

/** The command that builds the servlet in `folder`, to be run in the project's folder. */
export const commandIn = (folder: string, { command }: Build) => `(cd ${folder} && ${command})`;

const toolchainOf = (names: readonly string[]) =>
  ALL.find(({ builds }) => builds.some(({ sign }) => names.includes(sign)));

/** A warning if a source of this servlet is newer than the plugin that was built from it. */
export async function buildWarnings({ place, source }: Built): Promise<string[]> {
  const [plugin] = source.files;
  if (source.kind !== "wasm" || plugin === undefined || plugin === place) return [];
  const names = await readdir(place);
  const build = buildCommandOf(names);
  if (build === undefined) return [];
  const inSrc = await readdir(join(place, "src"), { recursive: true }).catch(() => []);
  const files = [...names, ...inSrc.map((name) => join("src", name))];
  const { mtimeMs: builtAt } = await stat(plugin);
  for (const name of files.filter((one) => toolchainOf(names)?.sources.test(one))) {
    const path = join(place, name);
    // Editors make links to nothing.
    const state = await stat(path).catch(() => undefined);
    if (state === undefined || state.mtimeMs < builtAt + CHECKOUT_MS) continue;
    return [`${path} is newer than ${plugin}: ${commandIn(place, build)} builds it again`];
  }
  return [];
}

/** The plugins that builds have written into folders below this one. */
export async function builtIn(folder: string, names: readonly string[]): Promise<string[]> {
  const toolchain = toolchainOf(names);
  const found = (toolchain?.outputs ?? []).map(async (output) => {
    const inside = await readdir(join(folder, output)).catch(() => []);
    return inside
      .filter((name) => name.endsWith(".wasm"))
      .map((name) => join(folder, output, name));
  });
  return (await Promise.all(found)).flat();
}

/** Checks that this command succeeds. */
function runs(program: string, ...args: string[]) {
  return async () => (await printedBy(program, ...args)) !== undefined;
}

/** rustc prints the folder of the target's library even if it does not exist. */
async function isRustTargetThere(): Promise<boolean> {
  const folder = await printedBy(
    "rustc",
    "--print=target-libdir",
    "--target=wasm32-unknown-unknown",
  );
  return folder !== undefined && existsSync(folder);
}

const printedBy = (program: string, ...args: string[]): Promise<string | undefined> =>
  new Promise((done) => {
    execFile(program, args, { timeout: 10_000 }, (error, stdout) =>
      done(error === null ? stdout.trim() : undefined),
    );
  });
