import { join } from "node:path";
import { build } from "esbuild";
import * as z from "zod";
import { filesIn as filesInArchive } from "../../../server/kernel/files/archive.ts";
import { FileStore } from "../../../server/kernel/files/file-store.ts";
import type { Files } from "../../../server/kernel/files/files.ts";
import type { Mount } from "../../../server/kernel/files/mounts.ts";
import { sealingWith } from "../../../server/kernel/files/sealing.ts";
import type { DialectName } from "../../../server/kernel/servlets/dialects.ts";
import type { Lists } from "../../../server/kernel/core/model.ts";
import type { ListFailure } from "../../../server/kernel/servlets/servlet.ts";
import { readIfThere, contentHash, writeWhole } from "../cache.ts";
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

export type ListAnswer = z.infer<typeof answerSchema>;

/**
 * Asks servlets, in the order of the questions. Answers are kept in the folder `cache` for as long as neither the servlet
 * nor the code that runs it changes.
 */
export async function askServlets(
  questions: readonly ListQuestion[],
  cache: string,
): Promise<ListAnswer[]> {
  runtime ??= runtimeText();
  const code = await runtime;
  const answers: ListAnswer[] = [];
  for (const question of questions) {
    const about = contentHash(code, question.prepared.hash, JSON.stringify(aboutOf(question)));
    const note = join(cache, `${about.slice(0, 32)}.lists.json`);
    const known = await readIfThere(note);
    const text = known === undefined ? await ask(question) : new TextDecoder().decode(known);
    const answer = answerSchema.parse(JSON.parse(text));
    answers.push(answer);
    if (known === undefined && answer.error === undefined) await writeWhole(note, text);
  }
  return answers;
}

async function ask({ folders, prepared, ...rest }: ListQuestion): Promise<string> {
  const { wasm, base, packages, patch, exports } = prepared;
  const answer = await answerTo({
    ...rest,
    ...(folders && { files: filesIn(folders) }),
    exports,
    module: await WebAssembly.compile(wasm),
    ...(base && { base: base.bytes.buffer }),
    ...(packages && { packages: packages.bytes.buffer }),
    ...(patch && { patch: patch.bytes.buffer }),
  });
  return JSON.stringify(answer);
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

/** All code that the answers depend on. */
async function runtimeText(): Promise<string> {
  const built = await build({
    entryPoints: [join(import.meta.dirname, `answer${OWN_EXTENSION}`)],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    logLevel: "silent",
  });
  return built.outputFiles[0]!.text;
}
