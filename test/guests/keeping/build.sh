#!/bin/sh
# Builds plugin.wasm. Needs a rustc with the target wasm32-wasip1 (before 1.78: wasm32-wasi), and no package.
# In Debian: apt-get install rustc libstd-rust-dev-wasm32 lld, then RUSTC=/usr/bin/rustc TARGET=wasm32-wasi ./build.sh
cd "$(dirname "$0")" || exit
"${RUSTC:-rustc}" --edition 2021 --target "${TARGET:-wasm32-wasip1}" --crate-type cdylib --crate-name keeping \
  -C opt-level=s -C lto -C panic=abort -C strip=symbols --remap-path-prefix "$PWD=." -o plugin.wasm src/lib.rs
