import { basename, join } from "node:path";
import { build } from "esbuild";
import type { Miniflare } from "miniflare";
import * as z from "zod";
import { filesIn as filesInArchive } from "../../files/archive.ts";
import { FileStore } from "../../files/file-store.ts";
import type { Files } from "../../files/files.ts";
import type { Mount } from "../../files/mounts.ts";
import { sealingWith } from "../../files/sealing.ts";
import type { DialectName } from "../../servlets/dialects.ts";
import type { Lists } from "../../core/model.ts";
import type { ListFailure } from "../../servlets/servlet.ts";
import { readIfThere, sha256, writeWhole } from "../cache.ts";
import { Database } from "../database.ts";
import type { Archived } from "../servlet-files.ts";
import type { Prepared } from "./prepare.ts";
import { OWN_EXTENSION } from "../own.ts";
import { answer as answerTo } from "./answer.ts";

/** A servlet to be asked how it starts and, where it is `listed`, what it lists. */
export interface ListQuestion {
  name: string;
  prepared: Prepared;
  dialect: DialectName;
  idsAsGiven: boolean;
  allowedHosts: readonly string[];
  isRestorable: boolean;
  listed: boolean;
  warm: readonly { tool: string; arguments?: object }[];
  startOnce: boolean;
  /** Fuel of one call. */
  fuel: number | undefined;
  /** Its folders, and the digests of the files that they begin with; undefined if it has none. */
  folders: { mounts: readonly Mount[]; archives: readonly Archived[] } | undefined;
}

const answerSchema = z.object({
  lists: z.custom<Lists>().optional(),
  /** Lists that a servlet does not give here which is asked for them when it is served. */
  failures: z.array(z.custom<ListFailure>()).optional(),
  /** Why there are no lists. */
  error: z.string().optional(),
  /** Do its start functions depend on nothing, so that they run once for all calls? */
  startsOnce: z.boolean(),
  /** Host services that its start functions used. */
  startAsks: z.array(z.string()),
  /** In base64, the patch in which its calls begin. */
  patch: z.string().optional(),
  /** Why the manifest's `warm` or `start` cannot be had. */
  refusal: z.string().optional(),
  /** Host functions that the servlet called. */
  calls: z.array(z.string()),
  logs: z.array(z.string()),
});

export type Answer = z.infer<typeof answerSchema>;

/** A list that takes longer has hung: an endless loop ends sooner, also on a machine that is busy. */
const PATIENCE_MS = 60_000;

export interface AskOptions {
  cache: string;
  progress(doing: string): void;
  /** Asks them in this process instead of workerd, which takes longer to start than most servlets to answer. */
  inNode?: boolean;
}

/**
 * Asks servlets in workerd, in the order of the questions. Answers are kept in `cache`
 * for as long as neither the servlet nor the code that runs it changes.
 */
export async function askAll(
  questions: readonly ListQuestion[],
  { cache, progress, inNode = false }: AskOptions,
): Promise<Answer[]> {
  runtime ??= bundleRuntime();
  const code = await runtime;
  const notes = questions.map((question) => {
    const about = JSON.stringify({ ...aboutOf(question), inNode });
    return join(cache, `${sha256(code, question.prepared.hash, about).slice(0, 32)}.lists.json`);
  });
  const known = await Promise.all(notes.map((note) => readIfThere(note)));
  const open = questions.filter((_, at) => known[at] === undefined);
  // A Worker alone has no database, in which files are.
  const [here, there] = [true, false].map((isHere) =>
    open.filter(({ folders }) => (inNode || folders !== undefined) === isHere),
  ) as [ListQuestion[], ListQuestion[]];
  const asked = [...here, ...there];
  const [first, ...others] = asked.map(({ name }) => name);
  if (others.length > 0) progress(`asking ${[first, ...others].join(", ")} what they offer`);
  else if (first !== undefined) progress(`asking ${first} what it offers`);
  const answers = [...(await askHere(here)), ...(await askInWorkerd(there, code))];
  return Promise.all(
    questions.map(async (question, at) => {
      const note = known[at];
      if (note !== undefined) return answerSchema.parse(JSON.parse(new TextDecoder().decode(note)));
      const answer = answers[asked.indexOf(question)]!;
      if (answer.error === undefined) await writeWhole(notes[at]!, JSON.stringify(answer));
      return answer;
    }),
  );
}

async function askHere(questions: readonly ListQuestion[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const question of questions) {
    const { folders, ...rest } = question;
    const { wasm, base, patch, exports } = question.prepared;
    const answer = await answerTo({
      ...rest,
      ...(folders && { files: filesIn(folders) }),
      exports,
      module: await WebAssembly.compile(wasm),
      ...(base && { base: base.bytes.buffer }),
      ...(patch && { patch: patch.bytes.buffer }),
    });
    answers.push(answerSchema.parse(JSON.parse(JSON.stringify(answer))));
  }
  return answers;
}

/** The folders as a call finds them; what one changes the next does not see. */
function filesIn({ mounts, archives }: NonNullable<ListQuestion["folders"]>): () => Files {
  const initial = Object.fromEntries(
    archives.map(({ host, digest, bytes }) => [
      host,
      { digest, files: () => filesInArchive(bytes.buffer) },
    ]),
  );
  const database = new Database();
  const store = new FileStore(database, sealingWith(crypto.getRandomValues(new Uint8Array(32))));
  const now = BigInt(Date.now()) * 1_000_000n;
  return () => store.begin(mounts, { now, initial });
}

/** Everything besides its wasm that the answer depends on. */
const aboutOf = (question: ListQuestion) => ({
  ...question,
  folders: question.folders && {
    mounts: question.folders.mounts,
    archives: question.folders.archives.map(({ host, digest }) => ({ host, digest })),
  },
  name: undefined,
  prepared: undefined,
});

let runtime: Promise<string> | undefined;

/** The script that asks, for workerd. */
async function bundleRuntime(): Promise<string> {
  const built = await build({
    entryPoints: [join(import.meta.dirname, `ask-worker${OWN_EXTENSION}`)],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    logLevel: "silent",
  });
  return built.outputFiles[0]!.text;
}

async function askInWorkerd(questions: readonly ListQuestion[], code: string): Promise<Answer[]> {
  if (questions.length === 0) return [];
  const modules = new Map<string, { type: "CompiledWasm" | "Data"; contents: Uint8Array }>();
  /** The name of a file's module: servlets of an engine share some. */
  const named = (type: "CompiledWasm" | "Data", path: string, contents: Uint8Array) => {
    modules.set(basename(path), { type, contents });
    return JSON.stringify(basename(path));
  };
  const entries = questions.map((question, at) => {
    const { exports, path, wasm, base, patch } = question.prepared;
    const imports = [
      `import module${at} from ${named("CompiledWasm", path, wasm)};`,
      base && `import base${at} from ${named("Data", base.path, base.bytes)};`,
      patch && `import patch${at} from ${named("Data", patch.path, patch.bytes)};`,
    ];
    const files = `module: module${at}, ${base ? `base: base${at},` : ""} ${patch ? `patch: patch${at},` : ""}`;
    const asked = JSON.stringify({ ...aboutOf(question), exports });
    return { imports, servlet: `"${at}": { ${files} ...${asked} }` };
  });
  const entry = `${entries.flatMap(({ imports }) => imports.filter(Boolean)).join("\n")}
import { answerer } from "./runtime.js";
export default answerer({ ${entries.map(({ servlet }) => servlet).join(",\n")} });`;
  // It takes half a second to load, and most bundles have all answers.
  const { convertV4MiniflareOptions, Miniflare } = await import("miniflare");
  // Miniflare 5 takes the documented options (those of 4) through its converter.
  const options = convertV4MiniflareOptions({
    cf: false,
    compatibilityDate: "2026-09-01",
    modules: [
      { type: "ESModule", path: "entry.js", contents: entry },
      { type: "ESModule", path: "runtime.js", contents: code },
      ...[...modules].map(([path, module]) => ({ path, ...module })),
    ],
  });
  const workerd = new Miniflare(options);
  try {
    const answers: Answer[] = [];
    for (const at of questions.keys()) answers.push(await askOne(workerd, at));
    return answers;
  } finally {
    await workerd.dispose();
  }
}

async function askOne(workerd: Miniflare, at: number): Promise<Answer> {
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), PATIENCE_MS).unref();
  });
  const answer = workerd
    .dispatchFetch(`http://localhost/${at}`)
    .then((response) => response.json());
  const answered = await Promise.race([answer, late]);
  if (answered !== undefined) return answerSchema.parse(answered);
  answer.catch(() => {}); // It ends when workerd does.
  const error = `it gave no answer within ${PATIENCE_MS / 1000} seconds`;
  return { error, startsOnce: false, startAsks: [], calls: [], logs: [] };
}
