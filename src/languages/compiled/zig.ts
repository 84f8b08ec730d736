import type { ToolchainLanguage } from "../../tools/bundle/language.ts";
import { runs } from "./compilers.ts";

export const zig: ToolchainLanguage = {
  name: "Zig",
  template: {
    word: "zig",
    folders: [
      ["templates/any", "."],
      ["templates/zig", "."],
    ],
    main: "servlet.zig",
  },
  toolchain: {
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
};
