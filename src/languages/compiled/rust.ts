import { existsSync } from "node:fs";
import type { ToolchainLanguage } from "../../tools/bundle/language.ts";
import { printedBy, runs } from "./compilers.ts";

export const rust: ToolchainLanguage = {
  name: "Rust",
  template: {
    word: "rust",
    folders: [
      ["templates/any", "."],
      ["templates/rust", "."],
    ],
    main: "src/lib.rs",
  },
  toolchain: {
    needs: [
      { name: "cargo", get: "https://rustup.rs", isThere: runs("cargo", "--version") },
      {
        name: "the target wasm32-unknown-unknown",
        get: "rustup target add wasm32-unknown-unknown",
        isThere: isTargetThere,
      },
    ],
    builds: [
      { sign: "Cargo.toml", command: "cargo build --release --target wasm32-unknown-unknown" },
    ],
    sources: /\.rs$|^Cargo\.toml$/,
    outputs: ["unknown-unknown", "wasip1", "wasip2"].map((one) => `target/wasm32-${one}/release`),
  },
};

/** rustc prints the folder of the target's library even if it does not exist. */
async function isTargetThere(): Promise<boolean> {
  const folder = await printedBy(
    "rustc",
    "--print=target-libdir",
    "--target=wasm32-unknown-unknown",
  );
  return folder !== undefined && existsSync(folder);
}
