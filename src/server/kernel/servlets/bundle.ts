import type { Lists, ToolDefinition } from "../core/model.ts";
import type { DialectName } from "./dialects.ts";
import type { Manifest } from "./manifest.ts";
import type { Profiles } from "./profiles.ts";

/** A servlet as the bundle step has prepared it: one of the bundle, or one that is kept as a build. */
export interface PreparedServlet {
  name: string;
  dialect: DialectName;
  /**
   * The prepared Wasm; absent if its code is in the bucket of builds. Servlets in TypeScript share an interpreter and its
   * base, and each has a patch of its own.
   */
  module?: WebAssembly.Module;
  base?: ArrayBuffer;
  patch?: ArrayBuffer;
  /** The digests of its code and files in the bucket of builds. */
  parts?: PartDigests;
  /** True if its start functions depend on nothing, so that they run once for all calls. */
  startsOnce?: boolean;
  /** True if a used instance can be restored to its pristine state. */
  restorable?: boolean;
  /** True if no call of it waits for a person, or for long; absent where that is not known. */
  neverWaits?: boolean;
  /** True if its code can ask the user; absent where that is not known. */
  mayAsk?: boolean;
  /** SHA-256 of the digests of the module and its patches, in hex. */
  hash: string;
  exports: readonly string[];
  /** The files that its folders begin with, by the host of `allowed_paths`: an archive, and its SHA-256 in hex. */
  files?: Readonly<Record<string, { archive: ArrayBuffer; digest: string }>>;
  /** The documents of its views, by their names; absent if they are in the bucket of builds. */
  views?: Readonly<Record<string, ArrayBuffer>>;
  skills?: ServedSkills;
  manifest: Manifest;
  /** Its lists, by its own names; absent if they are dynamic. */
  lists?: Lists;
  /** Definitions for Open Tool Calling by the tools' own names; absent if `lists` is. */
  definitions?: Readonly<Record<string, ToolDefinition>>;
}

/** A file of a skill; its path is below the folder of all skills of the servlet. */
export interface SkillFile {
  path: string;
  type: string;
  isText: boolean;
  /** SHA-256, in hex. */
  digest: string;
  /** In bytes. */
  size: number;
}

/** A skill; its path is that of its folder. `frontmatter` is that of its SKILL.md, as it is written. */
export interface Skill {
  path: string;
  frontmatter: { name: string; description: string; [key: string]: unknown };
}

/** The skills of a servlet, and their files in the order in which their archive has them, one after the other. */
export interface Skills {
  skills: readonly Skill[];
  files: readonly SkillFile[];
}

/** Skills that are served. */
export interface ServedSkills extends Skills {
  /** Absent if it is in the bucket of builds. */
  archive?: ArrayBuffer;
}

/** The digests of what a program consists of, in hex: see `Program`; and of the archives of its folders, by host. */
export interface PartDigests {
  module: string;
  base?: string | undefined;
  patch?: string | undefined;
  files?: Readonly<Record<string, string>> | undefined;
  /** Of the documents of its views, by their names. */
  views?: Readonly<Record<string, string>> | undefined;
  /** Of the archive of its skills. */
  skills?: string | undefined;
}

/** Reads the object with this digest in the bucket of builds, or a range of its bytes. */
export type StoredPart = (
  digest: string,
  range?: { offset: number; length: number },
) => Promise<ArrayBuffer>;

/** A servlet whose code is in the bucket of builds, without its lists. */
export type StoredServlet = Omit<
  PreparedServlet,
  "module" | "base" | "patch" | "files" | "views" | "skills" | "lists" | "definitions"
>;

/** A servlet by its name; with its build, if its code is in the bucket of builds. */
export interface ServletRef {
  name: string;
  build?: StoredServlet;
}

/** A servlet that keeps state, or has kept some before it was uninstalled or changed; also one that keeps none. */
export interface StateOwner extends ServletRef {
  state: Manifest["state"];
}

export function refOf(servlet: PreparedServlet): ServletRef {
  const { lists: _, definitions: __, views: ___, skills: ____, ...build } = servlet;
  const { name, module, parts } = build;
  return module !== undefined || parts === undefined ? { name } : { name, build };
}

export interface Served {
  servlets: readonly PreparedServlet[];
}

/** All servlets, as the bundle step has prepared them, and what they are served with. */
export interface BundledServlets extends Served {
  servlets: readonly (PreparedServlet & { module: WebAssembly.Module })[];
  /** Those of the project, which no servlet has. */
  skills?: ServedSkills;
  profiles?: Profiles;
  /** That of the project, as its package.json has it. */
  version?: string;
  /** The scripts that run a servlet in an isolate of its own (see `src/tools/bundle/runner-scripts.ts`). */
  runner?: { script: string; stateScript: string; compatibilityDate: string };
}
