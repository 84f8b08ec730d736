/** Loads a servlet into its interpreter, and reads the kit's description of it. */
import * as z from "zod";
import { contentHash } from "./cache.ts";
import type { InterpretedLanguage, Load } from "./language.ts";
import { Refusal } from "./refusal.ts";
import { checkManifest, type FoundServlet } from "./scan.ts";
import { codeMayAsk, codeNeverWaits } from "./waits.ts";
import type { Prepared } from "./wasm/prepare.ts";

/** Loads a servlet with `load` into the prepared interpreter of its language: the result is a patch over the base. */
export async function loadInterpreted(
  found: FoundServlet,
  {
    language,
    interpreter,
    load,
  }: { language: InterpretedLanguage; interpreter: Prepared; load: Load },
  cache: string,
  progress: (doing: string) => void,
) {
  const base = await language.base(interpreter, cache);
  const loaded = await load({ interpreter, base }, cache, progress);
  const { packages, patch, output, text, hasPackages = false, warnings } = loaded;
  const { exports, manifest, asked } = described(output);
  const whole = withManifest(found, manifest);
  return {
    found: whole,
    prepared: {
      ...interpreter,
      exports,
      hash: contentHash(interpreter.hash, base.bytes, packages?.bytes ?? "", patch.bytes),
      base,
      ...(packages && { packages }),
      patch,
    },
    // Package code is not searched, so a servlet with packages may wait.
    neverWaits: !hasPackages && codeNeverWaits(text, language.waits, whole.manifest),
    mayAsk: codeMayAsk(text, hasPackages),
    bytes: Buffer.byteLength(text),
    warnings: [...warnings, ...chanceWarnings(asked)],
  };
}

const manifestPart = z.record(z.string(), z.looseObject({}));
/** The members of a manifest with entries that a servlet's script may define. */
const DEFINED = ["views", "schedules", "webhooks", "events"] as const;
const descriptionSchema = z.object({
  exports: z.array(z.string()),
  manifest: z.object({
    views: manifestPart,
    tools: manifestPart,
    schedules: z.optional(manifestPart),
    webhooks: z.optional(manifestPart),
    events: z.optional(manifestPart),
    files: z.optional(z.looseObject({})),
    instructions: z.optional(z.string()),
  }),
  /** Uses of time and random numbers at module scope, if the kit records them. */
  asked: z.array(z.object({ what: z.string(), path: z.string(), line: z.number() })).default([]),
});
type Description = z.infer<typeof descriptionSchema>;

/**
 * Validates the kit's description of a servlet. Throws a `Refusal` if the servlet has changed the kit so that it is
 * invalid.
 */
function described(output: unknown): Description {
  const read = descriptionSchema.safeParse(output);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Refusal(
    `its module scope changed the kit, which could not describe the servlet: ${issue!.path.join(".")} ${issue!.message}. Leave the kit's own modules as they are`,
  );
}

/** Warnings about time and random numbers at module scope, whose values are the same in every call. */
const chanceWarnings = (asked: Description["asked"]): string[] =>
  asked.map(
    ({ what, path, line }) =>
      `${path}:${line}: ${what}() at module scope runs once, when the servlet is built: each call has the same value. Call it in a handler`,
  );

/** Adds to the manifest what the servlet's script defines. Throws a `Refusal`. */
function withManifest(
  found: FoundServlet,
  { tools, instructions, files, ...defined }: Description["manifest"],
): FoundServlet {
  const { manifest, place } = found;
  const given = manifest as Partial<Record<string, object>>;
  const entries = DEFINED.flatMap((kind) => {
    const own = defined[kind] ?? {};
    const before = given[kind] ?? {};
    const twice = Object.keys(own).find((name) => Object.hasOwn(before, name));
    if (twice !== undefined)
      throw new Refusal(
        `${place}: servlet.json has the ${kind.slice(0, -1)} ${twice} as well: leave it out there`,
      );
    return Object.keys(own).length === 0 ? [] : [[kind, { ...before, ...own }] as const];
  });
  const isNothing = entries.length + Object.keys(tools).length === 0;
  if (isNothing && instructions === undefined && files === undefined) return found;
  const merged = {
    ...(instructions !== undefined && { instructions }),
    ...(files && { files }),
    ...manifest,
    ...Object.fromEntries(entries),
    tools: Object.fromEntries(
      Object.keys({ ...tools, ...manifest.tools }).map((name) => [
        name,
        { ...tools[name], ...manifest.tools?.[name] },
      ]),
    ),
  };
  return { ...found, manifest: checkManifest("defineServlet", merged) };
}
