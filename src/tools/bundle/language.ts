/** The interface of a language that servlets can be written in. `src/languages/index.ts` lists the languages. */
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import type { Cached, Prepared } from "./wasm/prepare.ts";
import type { Snapshot } from "./wasm/snapshot.ts";

export type Language = BuiltLanguage | InterpretedLanguage | ToolchainLanguage;

interface AnyLanguage {
  /** Its name in messages: `TypeScript`. */
  name: string;
  template: Template;
}

/** A language whose servlets the bundle step builds from their sources. */
export interface BuiltLanguage extends AnyLanguage {
  /** The kind of its sources in reports: `typescript`. */
  kind: string;
  /** Names of files and folders that mark a folder as a servlet in this language. */
  files: readonly string[];
  /**
   * Paths of the sources in a folder with these entries; empty if it is no servlet in this language. Default: the first
   * of `files`.
   */
  detect?(folder: string, names: readonly string[]): Promise<string[]>;
  /**
   * Builds the plugin from these sources; for an interpreted language, the interpreter as a plugin. Calls `progress`
   * before a slow step. Throws a `Refusal` with the compiler's message.
   */
  build(
    files: readonly string[],
    cache: string,
    progress: (doing: string) => void,
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** A language whose servlets share an interpreter, into which each is loaded. */
export interface InterpretedLanguage extends BuiltLanguage {
  /** Matches the text of a servlet, to detect a servlet in a file with the wrong name. */
  defines: RegExp;
  /** Matches the text of a servlet that may wait for the user, the network or a timer. */
  waits: RegExp;
  /** The patch over the prepared interpreter with which it has started and loaded its kit. */
  base(interpreter: Prepared, cache: string): Promise<Cached>;
  /** Reads the servlet in this file and folder. Throws a `Refusal` that names file and line. */
  read(entry: string, found: { place: string; manifest: Manifest }): Promise<Load>;
  /**
   * Checks the servlets in these files while they are prepared, then the view scripts of all servlets. Throws a
   * `Refusal`.
   */
  check?(
    entries: readonly string[],
    views: Promise<readonly string[]>,
    cache: string,
    progress: (doing: string) => void,
  ): Promise<void>;
}

/** Loads a servlet into its interpreter. Throws a `Refusal` that names file and line. */
export type Load = (
  started: StartedInterpreter,
  cache: string,
  progress: (doing: string) => void,
) => Promise<LoadedProgram>;

/** A prepared interpreter with its `base`. */
export interface StartedInterpreter {
  interpreter: Prepared;
  base: Cached;
}

/** A servlet as a patch over the base and its packages; `output` is the kit's description of it. */
export interface LoadedProgram extends Snapshot {
  /** The patch over the base that it shares with all servlets that have the same packages. */
  packages?: Cached;
  /** Its code, without the code of packages if `hasPackages`. */
  text: string;
  hasPackages?: boolean;
  warnings: string[];
}

/** A language whose servlets are built by their authors: the bundle step looks for the plugin. */
export interface ToolchainLanguage extends AnyLanguage {
  toolchain: Toolchain;
}

export interface Toolchain {
  needs: readonly Tool[];
  /**
   * The files that mark a servlet in this language, each with the build command for its folder; the template's first.
   */
  builds: readonly [BuildCommand, ...BuildCommand[]];
  /** Matches the names of source files, in the servlet's folder and its `src`. */
  sources: RegExp;
  /** Subfolders to which a build writes the plugin, if not beside the sources. */
  outputs: readonly string[];
}

/** A program that a build needs. */
interface Tool {
  name: string;
  /** How to install it. */
  get: string;
  isThere(): Promise<boolean>;
}

export interface BuildCommand {
  sign: string;
  command: string;
}

/** The template for `servlets -- new`. */
export interface Template extends TemplateFiles {
  /** The value of `--lang`: `ts`. */
  word: string;
  /** The template of `--view`. */
  withView?: TemplateFiles;
  /** Prepares the project for the language. Returns the commands that the user must run before the bundle step. */
  setUp?(): Promise<string[]>;
}

export interface TemplateFiles {
  /** Folders to copy, each with its target in the servlet's folder. Later folders override files of earlier ones. */
  folders: readonly (readonly [from: string, to: string])[];
  /** The file with the tool. */
  main: string;
  /** The file with its view. */
  view?: string;
}
