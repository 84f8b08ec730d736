import type { Lists, ToolDefinition } from "../model.ts";
import type { DialectName } from "./dialects.ts";
import type { Manifest } from "./manifest.ts";

/** One servlet as the bundle step found it. */
export interface BundledServlet {
  name: string;
  dialect: DialectName;
  /** The prepared wasm; many servlets may share an engine, and have each a patch of their own. */
  module: WebAssembly.Module;
  patch?: ArrayBuffer;
  /** Do its start functions depend on nothing, so that they run once for all calls? */
  startsOnce?: boolean;
  /** Can an instance be put back into the state in which it was born? */
  restorable?: boolean;
  /** SHA-256 of both, in hex. */
  hash: string;
  exports: readonly string[];
  manifest: Manifest;
  /** What it lists, by its own names; absent where it must be asked at run time. */
  lists?: Lists;
  /** Those that Open Tool Calling offers, by the tools' own names; absent where `lists` is. */
  definitions?: Readonly<Record<string, ToolDefinition>>;
}

/** What `npm run bundle` writes. */
export interface Bundle {
  servlets: readonly BundledServlet[];
}
