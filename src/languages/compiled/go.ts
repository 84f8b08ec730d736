import type { ToolchainLanguage } from "../../tools/bundle/language.ts";
import { runs } from "./compilers.ts";

export const go: ToolchainLanguage = {
  name: "Go",
  template: {
    word: "go",
    folders: [
      ["templates/any", "."],
      ["templates/go", "."],
    ],
    main: "main.go",
  },
  toolchain: {
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
};
