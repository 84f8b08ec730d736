/** What the project knows of a language that servlets are written in. `src/languages/index.ts` lists the languages. */
import type { Cached, Prepared } from "./wasm/prepare.ts";
import type { Snapshot } from "./wasm/snapshot.ts";

export type Language = BuiltLanguage | InterpretedLanguage | ToolchainLanguage;

interface AnyLanguage {
  /** As messages name it: `TypeScript`. */
  name: string;
  template: Template;
}

/** A language whose servlets the bundle step builds from their sources. */
export interface BuiltLanguage extends AnyLanguage {
  /** The kind of its sources in reports: `typescript`. */
  kind: string;
  /** Names of files and folders. A folder that has one of them is a servlet in this language. */
  files: readonly string[];
  /** The paths of the sources in a folder that has these names; none if it is no servlet in this language. By default the first of `files`. */
  detect?(folder: string, names: readonly string[]): Promise<string[]>;
  /**
   * The plugin of these sources; for an interpreted language, its interpreter as a plugin. Calls `progress` before a slow step.
   * Throws a `Refusal` with the compiler's message.
   */
  build(
    files: readonly string[],
    cache: string,
    progress: (doing: string) => void,
  ): Promise<Uint8Array<ArrayBuffer>>;
}

/** A language whose servlets share an interpreter, into which each is loaded. */
export interface InterpretedLanguage extends BuiltLanguage {
  /** Matches the text of a servlet, so that one whose file has another name is not overlooked. */
  defines: RegExp;
  /** Matches the text of a servlet that may wait: for the user, the network or time. */
  waits: RegExp;
  /** The patch that makes the prepared interpreter one that has started and loaded its kit. */
  base(interpreter: Prepared, cache: string): Promise<Cached>;
  /** Reads the servlet in this file. Throws a `Refusal` that names file and line. */
  read(entry: string): Promise<Load>;
  /**
   * Checks the servlets in these files, while they are prepared; then the scripts of the views of all servlets. Throws a
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

/** A servlet as a patch over the base; `output` is how the kit describes it. */
export interface LoadedProgram extends Snapshot {
  /** Its code; without that of packages if `hasPackages`. */
  text: string;
  hasPackages?: boolean;
  warnings: string[];
}

/** A language whose servlets their authors build: the bundle step finds the plugin. */
export interface ToolchainLanguage extends AnyLanguage {
  toolchain: Toolchain;
}

export interface Toolchain {
  needs: readonly Tool[];
  /** The file that shows a servlet in this language, and the command that builds it in its folder; the template's first. */
  builds: readonly [BuildCommand, ...BuildCommand[]];
  /** Matches the names of its sources, which are in the servlet's folder and in its `src`. */
  sources: RegExp;
  /** Folders below the servlet's into which a build writes the plugin, if not beside the sources. */
  outputs: readonly string[];
}

/** A program that a build needs. */
interface Tool {
  name: string;
  /** Where or how to get it. */
  get: string;
  isThere(): Promise<boolean>;
}

export interface BuildCommand {
  sign: string;
  command: string;
}

/** What `servlets -- new` makes a servlet from. */
export interface Template extends TemplateFiles {
  /** The value of `--lang`: `ts`. */
  word: string;
  /** The template of `--view`. */
  withView?: TemplateFiles;
  /** Prepares the project for the language. Returns the commands that the user has to run before the bundle step. */
  setUp?(): Promise<string[]>;
}

export interface TemplateFiles {
  /** Folders to copy, and where to in the servlet's folder. Files of a later folder replace those of an earlier one. */
  folders: readonly (readonly [from: string, to: string])[];
  /** The file with the tool. */
  main: string;
  /** The file with its view. */
  view?: string;
}
