import type { Lists, ToolDefinition } from "../core/model.ts";
import type { DialectName } from "./dialects.ts";
import type { Manifest } from "./manifest.ts";
import type { Profiles } from "./profiles.ts";

/** A servlet as the bundle step prepared it, from the bundle or a stored build. */
export interface PreparedServlet {
  name: string;
  dialect: DialectName;
  /**
   * The prepared Wasm; absent if its code is in the bucket of builds. Servlets in TypeScript share an interpreter and
   * its base, those with the same packages share these, and each has its own patch.
   */
  module?: WebAssembly.Module;
  base?: ArrayBuffer;
  packages?: ArrayBuffer;
  patch?: ArrayBuffer;
  /** The digests of its code and files in the bucket of builds. */
  parts?: PartDigests;
  /** True if its start functions depend on nothing, so that they run once for all calls. */
  startsOnce?: boolean;
  /** True if a used instance can be restored to its pristine state. */
  restorable?: boolean;
  /** True if none of its calls waits for a person, or for long; absent if unknown. */
  neverWaits?: boolean;
  /** True if its code can ask the user; absent if unknown. */
  mayAsk?: boolean;
  /** SHA-256 of the digests of the module and its patches, in hex. */
  hash: string;
  exports: readonly string[];
  /** The initial files of its folders, by the host of `allowed_paths`: an archive, and its SHA-256 in hex. */
  files?: Readonly<Record<string, { archive: ArrayBuffer; digest: string }>>;
  /** The documents of its views, by name; absent if they are in the bucket of builds. */
  views?: Readonly<Record<string, ArrayBuffer>>;
  skills?: ServedSkills;
  manifest: Manifest;
  /** Its lists, under its own names; absent if they are dynamic. */
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

/** A skill; its path is that of its folder. `frontmatter` is copied from its SKILL.md. */
export interface Skill {
  path: string;
  frontmatter: { name: string; description: string; [key: string]: unknown };
}

/** The skills of a servlet, and their files in the order of their concatenation in the archive. */
export interface Skills {
  skills: readonly Skill[];
  files: readonly SkillFile[];
}

/** Skills that are served. */
export interface ServedSkills extends Skills {
  /** Absent if it is in the bucket of builds. */
  archive?: ArrayBuffer;
}

/** The digests of a program's parts, in hex (see `Program`), and of its folders' archives, by host. */
export interface PartDigests {
  module: string;
  base?: string | undefined;
  packages?: string | undefined;
  patch?: string | undefined;
  files?: Readonly<Record<string, string>> | undefined;
  /** Digests of its views' documents, by name. */
  views?: Readonly<Record<string, string>> | undefined;
  /** Digest of the archive of its skills. */
  skills?: string | undefined;
}

/** Reads the object with this digest from the bucket of builds, or a range of its bytes. */
export type StoredPart = (
  digest: string,
  range?: { offset: number; length: number },
) => Promise<ArrayBuffer>;

/** A servlet whose code is in the bucket of builds, without its lists. */
export type StoredServlet = Omit<
  PreparedServlet,
  "module" | "base" | "packages" | "patch" | "files" | "views" | "skills" | "lists" | "definitions"
>;

/** A servlet by name; with its build, if its code is in the bucket of builds. */
export interface ServletRef {
  name: string;
  build?: StoredServlet;
}

/** A servlet that keeps state, or did so before it was uninstalled or changed; or any other servlet. */
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

/** All prepared servlets, and the configuration that they are served with. */
export interface BundledServlets extends Served {
  servlets: readonly (PreparedServlet & { module: WebAssembly.Module })[];
  /** Skills of the project itself. */
  skills?: ServedSkills;
  profiles?: Profiles;
  /** The project's version, from its package.json. */
  version?: string;
  /** The scripts that run a servlet in its own isolate (see `src/tools/bundle/runner-scripts.ts`). */
  runner?: { script: string; stateScript: string; compatibilityDate: string };
}
