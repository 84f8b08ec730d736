import type { Lists, ToolDefinition } from "../model.ts";
import type { DialectName } from "./dialects.ts";
import type { Manifest } from "./manifest.ts";

/** One servlet as the bundle step found it. */
export interface BundledServlet {
  name: string;
  dialect: DialectName;
  /** The prepared wasm. Servlets in TypeScript share an engine and its base, and each has a patch of its own. */
  module: WebAssembly.Module;
  base?: ArrayBuffer;
  patch?: ArrayBuffer;
  /** True if its start functions depend on nothing, so that they run once for all calls. */
  startsOnce?: boolean;
  /** True if a used instance can be restored to its pristine state. */
  restorable?: boolean;
  /** SHA-256 of the module and its patches, in hex. */
  hash: string;
  exports: readonly string[];
  /** The files that its folders begin with, by the host of `allowed_paths`: an archive, and its SHA-256 in hex. */
  files?: Readonly<Record<string, { archive: ArrayBuffer; digest: string }>>;
  manifest: Manifest;
  /** Its lists, by its own names; absent if they are dynamic. */
  lists?: Lists;
  /** Definitions for Open Tool Calling by the tools' own names; absent if `lists` is. */
  definitions?: Readonly<Record<string, ToolDefinition>>;
}

/** The module that `npm run bundle` writes. */
export interface Bundle {
  servlets: readonly BundledServlet[];
}
