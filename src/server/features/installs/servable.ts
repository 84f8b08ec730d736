/** Checks a build like bundling checks a servlet: one invalid entry would break a list for all clients. */
import * as z from "zod/mini";
import { parseMounts } from "../../kernel/files/mounts.ts";
import { limits } from "./limits.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isObject } from "../../kernel/core/model.ts";
import { Schema, SchemaError } from "../../kernel/schema/schema.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import {
  clashRemedy,
  merge,
  overlapsIn,
  type Catalog,
  type Clash,
} from "../../kernel/servlets/catalog.ts";
import { keepsState, manifestSchema, type Manifest } from "../../kernel/servlets/manifest.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { once } from "../../kernel/core/once.ts";
import { NO_ENTRIES } from "../../kernel/servlets/servlet.ts";
import { entryCharacters } from "../../kernel/servlets/skills.ts";
import { folded, toolkitOf } from "../../kernel/servlets/toolkit.ts";
import { printable } from "../../kernel/core/text.ts";
import { describeIssue, invalidBuild, type Build } from "./build.ts";

const list = <T extends z.ZodMiniType>(entry: T) => z.array(entry, "must be a list");

const servableSchema = once(() => {
  const object = z.custom<Record<string, unknown>>(isObject, "must be an object");
  const text = z.string("must be a string");
  const named = {
    name: text.check(z.minLength(1, "must not be empty")),
    title: z.optional(text),
    description: z.optional(text),
    annotations: z.optional(object),
    icons: z.optional(z.array(z.looseObject({ src: text }))),
    _meta: z.optional(object),
  };

  return z.object({
    manifest: manifestSchema(),
    lists: z.optional(
      z.strictObject({
        tools: list(
          z.looseObject({
            ...named,
            inputSchema: z.looseObject({ type: z.literal("object") }, "must be an object schema"),
            outputSchema: z.optional(object),
            execution: z.optional(object),
          }),
        ),
        resources: list(z.looseObject({ ...named, uri: text, mimeType: z.optional(text) })),
        resourceTemplates: list(
          z.looseObject({
            ...named,
            uriTemplate: text.check(
              z.maxLength(limits.templateCharacters, `is longer than ${limits.templateCharacters}`),
            ),
            mimeType: z.optional(text),
          }),
        ),
        prompts: list(
          z.looseObject({ ...named, arguments: z.optional(list(z.looseObject({ name: text }))) }),
        ),
      }),
    ),
    skills: z.optional(
      z.strictObject({
        skills: list(
          z
            .strictObject({
              path: text,
              frontmatter: z.looseObject({ name: text, description: text }),
            })
            .check(
              z.refine(
                ({ path, frontmatter: { name } }) => path.split("/").at(-1) === name,
                "must be in a folder of its name",
              ),
            ),
        ),
        files: list(
          z.strictObject({
            path: text.check(
              z.refine((path) => path.isWellFormed(), "must be well-formed"),
              z.refine(isPath, "must be a path of names"),
            ),
            type: text,
            isText: z.boolean(),
            digest: text,
            size: z.int().check(z.minimum(0)),
          }),
        ),
      }),
    ),
    definitions: z.optional(
      z.record(
        z.string(),
        z.looseObject({
          id: text,
          name: text,
          description: text,
          version: text,
          input_schema: z.looseObject({ parameters: object }),
          output_schema: z.nullable(object),
        }),
      ),
    ),
  });
});

const isPath = (path: string): boolean =>
  path.split("/").every((name) => !["", ".", ".."].includes(name));

/** Throws `invalid_params` if a build's manifest, lists or definitions cannot be served. */
export function demandServable(build: Build): void {
  const { success, error } = servableSchema().safeParse(build);
  if (!success) throw invalidBuild(describeIssue(error.issues[0]));
  const { manifest, restorable } = build;
  const [wanted, given] = [manifest.views ?? {}, build.parts.views ?? {}].map((of) =>
    Object.keys(of).toSorted().join(", "),
  );
  if (wanted !== given)
    throw invalidBuild(
      `parts.views has ${given || "none"}, and manifest.views ${wanted || "none"}`,
    );
  const size = build.skills?.files.reduce((sum, file) => sum + file.size, 0) ?? 0;
  if (size > limits.skillBytes)
    throw invalidBuild(`its skills have ${size} bytes, and ${limits.skillBytes} is the limit`);
  const entries = build.skills === undefined ? 0 : entryCharacters(build.skills);
  if (entries > limits.buildBytes)
    throw invalidBuild(
      `the list of its skills' files has ${entries} characters, and ${limits.buildBytes} is the limit`,
    );
  if ((build.skills === undefined) !== (build.parts.skills === undefined))
    throw invalidBuild("skills and parts.skills are there together, or not at all");
  if (keepsState(manifest)) {
    if (restorable !== true)
      throw invalidBuild(
        "manifest.state: its module changes tables or drops segments, so its memory cannot be kept",
      );
    const hosts = new Set(mountsOf(manifest).map(({ host }) => host));
    for (const host of Object.keys(build.parts.files ?? {})) {
      if (!hosts.has(host)) throw invalidBuild(`parts.files: ${host} is not in allowed_paths`);
    }
  } else if ((manifest.allowed_paths ?? []).length > 0) {
    throw invalidBuild("manifest.allowed_paths needs manifest.state");
  }
  for (const [at, tool] of (build.lists?.tools ?? []).entries()) {
    for (const key of ["inputSchema", "outputSchema"] as const) {
      const schema = tool[key];
      try {
        if (schema !== undefined) void new Schema(schema);
      } catch (cause) {
        if (!(cause instanceof SchemaError)) throw cause;
        throw invalidBuild(`lists.tools.${at}.${key} is not a valid schema: ${cause.message}`);
      }
    }
  }
}

function mountsOf({ allowed_paths = [] }: Manifest) {
  try {
    return parseMounts(allowed_paths);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalidBuild(`manifest.${why.replace(/\.$/, "")}`);
  }
}

/** Throws `conflict` if one of these servlets has the build's toolkit: the newer version would replace the other. */
export function demandToolkit(build: Build, servlets: readonly PreparedServlet[]): void {
  const toolkit = toolkitOf(build);
  const isTaken = servlets.some((one) => folded(toolkitOf(one)) === folded(toolkit));
  if (isTaken)
    throw new Fault(
      "conflict",
      `The toolkit ${toolkit} belongs to a servlet of the bundle or of the server itself. Give yours another "toolkit" in servlet.json.`,
    );
}

/** Throws `conflict` if another of these servlets has one of the build's tools, prompts or resources. */
export function refuseClashes(build: Build, others: Others): void {
  try {
    merged(build, others, ({ kind, name, servlets: [first, second] }) => {
      if (second !== build.name) return;
      if (first === second) {
        throw new Fault(
          "conflict",
          `Two of the ${kind} of ${first} are listed as ${name}: rename one of them in the servlet.`,
        );
      }
      throw new Fault(
        "conflict",
        `The servlet ${first} also has ${name} (${kind}): ${clashRemedy(kind, second)}.`,
      );
    });
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("invalid_params", "The build is not valid: its lists cannot be read.", {
      cause: error,
    });
  }
}

/** Warnings about resource templates of a build that match resources of another servlet, or the reverse. */
export function overlapsOf(build: Build, others: Others): string[] {
  const all = merged(build, others, () => {});
  return overlapsIn(all, build.name).map((one) => printable(`Beware: ${one.text}.`));
}

/** The servlets served already. */
type Others = Pick<Registry, "servlets" | "contributors">;

/** The catalog with this build. */
function merged(
  build: Build,
  { servlets, contributors }: Others,
  onClash: (clash: Clash) => void,
): Catalog {
  const others = servlets.filter(({ name }) => name !== build.name);
  const all = [...others, build].map((servlet) => ({
    servlet,
    lists: servlet.lists ?? NO_ENTRIES,
  }));
  return merge(all, onClash, { contributors });
}
