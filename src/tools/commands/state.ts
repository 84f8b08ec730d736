/** `npm run servlets -- state …`: manages the state of servlets on a running server. */
import { createWriteStream, openAsBlob } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as z from "zod";
import { framesIn } from "../../server/features/state/state-file.ts";
import { mebibytes, printable } from "../../server/kernel/core/text.ts";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { Refusal } from "../bundle/refusal.ts";
import { requestOperator, requestJson } from "./operator.ts";

export const STATE_USAGE = `npm run servlets -- state show NAME              what a servlet keeps: its size, last change and files
npm run servlets -- state export NAME FILE       writes all of it to a file
npm run servlets -- state import NAME FILE       replaces it by what is in a file; with --files, its files alone
npm run servlets -- state delete NAME            deletes it
npm run servlets -- state delete --caller alice  deletes all that is kept for this caller: state, secrets, accounts, handed-over calls

  --scope caller:alice | session:ID | server     whose; your own by default
  --to URL                                       the server; http://localhost:8787 by default
The variable EDGE_SERVLETS_KEY has a key with the scope operator, where the server requires one.`;

const summarySchema = z.object({
  scope: z.string(),
  memoryBytes: z.number(),
  changed: z.number().optional(),
  isOfThisBuild: z.boolean(),
  fileBytes: z.number(),
  files: z.array(
    z.object({ path: z.string(), kind: z.string(), size: z.number(), modified: z.number() }),
  ),
  hasMoreFiles: z.boolean(),
  isDamaged: z.boolean(),
});

type Summary = z.infer<typeof summarySchema>;

/** Runs the command; returns the text to print. Throws a `Refusal`. */
export async function state(args: string[]): Promise<string> {
  const { positionals, values } = argumentsIn(
    { args, allowPositionals: true, options: OPTIONS },
    STATE_USAGE,
  );
  const server = values.to;
  const [command = "", name, file, ...more] = positionals;
  if (command === "delete" && name === undefined && values.caller !== undefined) {
    const query = new URLSearchParams({ caller: values.caller });
    const deleted = z.object({ servlets: z.array(z.string()) });
    const { servlets } = await requestJson(server, `state?${query}`, deleted, { method: "DELETE" });
    const of = servlets.length === 0 ? "no servlet keeps any" : `of ${servlets.join(", ")}`;
    return printable(`Deleted the state of the caller ${values.caller}: ${of}.`);
  }
  if (command === "") throw misused("Give a command.", STATE_USAGE);
  if (!COMMANDS.has(command)) throw misused(`There is no command state ${command}.`, STATE_USAGE);
  if (name === undefined) throw misused("Give a servlet's name.", STATE_USAGE);
  const needsFile = command === "export" || command === "import";
  if (needsFile && file === undefined) throw misused("Give a file, too.", STATE_USAGE);
  const [surplus] = needsFile ? more : [file, ...more];
  if (surplus !== undefined) throw misused(`Unexpected argument: ${surplus}.`, STATE_USAGE);
  // Without `--scope`, the command would act on the operator's own state instead of the caller's.
  if (values.caller !== undefined) {
    throw new Refusal(
      `--caller goes with delete alone, without a servlet's name. To name the caller whose state of ${name} you mean: --scope caller:${values.caller}`,
    );
  }
  const own = encodeURIComponent(name);
  const query = new URLSearchParams({
    ...(values.scope !== undefined && { scope: values.scope }),
    ...(values.files && { files: "" }),
  });
  switch (command) {
    case "show":
      return described(name, await requestJson(server, `state/${own}?${query}`, summarySchema));
    case "export":
      await download(await requestOperator(server, `state-file/${own}?${query}`), file!);
      return `Written to ${file}. It is not encrypted: keep it as you would keep the data in it.`;
    case "import": {
      const body = await opened(file!);
      const put = { method: "PUT", body };
      const summary = await requestJson(server, `state/${own}?${query}`, summarySchema, put);
      return `Imported.\n${described(name, summary)}`;
    }
    default: {
      const deleted = z.object({ scope: z.string() });
      const init = { method: "DELETE" };
      const { scope } = await requestJson(server, `state/${own}?${query}`, deleted, init);
      return printable(`Deleted the state of ${name} for ${whose(scope)}.`);
    }
  }
}

const COMMANDS: ReadonlySet<string> = new Set(["show", "export", "import", "delete"]);

const OPTIONS = {
  scope: { type: "string" },
  to: { type: "string", default: "http://localhost:8787" },
  caller: { type: "string" },
  files: { type: "boolean", default: false },
} as const;

async function opened(file: string): Promise<Blob> {
  try {
    return await openAsBlob(file);
  } catch (error) {
    throw new Refusal(
      `${file} cannot be read: ${(error as Error).message}. Give a file that \`state export\` has written.`,
    );
  }
}

/** Writes an export to a file, which appears only when it is complete. */
async function download(response: Response, file: string): Promise<void> {
  const part = `${file}.part`;
  try {
    const bytes = Readable.fromWeb(response.body as never);
    await pipeline(bytes, createWriteStream(part, { mode: 0o600 }));
    const blob = await openAsBlob(part);
    for await (const _ of framesIn(blob.stream()));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw new Refusal(
      `The export was cut off, so ${file} was not written: ${(error as Error).message}. Try again.`,
    );
  }
}

const whose = (scope: string): string =>
  scope === "caller:" ? "anonymous callers" : scope.replace(":", " ");

const time = (ms: number) => new Date(ms).toISOString();

/** The state of a scope as text for the terminal. */
function described(name: string, summary: Summary): string {
  const { scope, memoryBytes, changed, isOfThisBuild, fileBytes, files, hasMoreFiles } = summary;
  const memory =
    changed === undefined
      ? "none"
      : `${mebibytes(memoryBytes)}, changed ${time(changed)}${isOfThisBuild ? "" : ", of another build: the next call starts with empty memory"}`;
  const width = Math.max(0, ...files.map(({ size }) => String(size).length));
  const rows = files.map(
    ({ path, kind, size, modified }) =>
      `    ${time(modified)}  ${(kind === "file" ? String(size) : "").padStart(width)}  ${path}${kind === "folder" ? "/" : ""}`,
  );
  return [
    `${name}, ${whose(scope)}`,
    `  memory  ${memory}`,
    summary.isDamaged
      ? "  files   cannot be read: their key is gone, or they were altered. Delete the state."
      : `  files   ${files.length === 0 ? "none" : mebibytes(fileBytes)}`,
    ...rows,
    ...(hasMoreFiles ? ["    …"] : []),
  ]
    .map(printable)
    .join("\n");
}
