/**
 * A build: a prepared servlet outside of the bundle. Its code is stored in the bucket of builds as parts, each by its
 * digest; the rest is one JSON value.
 */
import * as z from "zod/mini";
import { once } from "../../kernel/core/once.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isObject } from "../../kernel/core/model.ts";
import type { PreparedServlet, PartDigests } from "../../kernel/servlets/bundle.ts";
import { dialectNames } from "../../kernel/servlets/dialects.ts";
import type { Skills } from "../../kernel/servlets/bundle.ts";

const DIGEST = /^[0-9a-f]{64}$/;
const digest = () => z.string().check(z.regex(DIGEST, "must be a SHA-256 in hex"));

export const isDigest = (text: string): boolean => DIGEST.test(text);

const object = () => z.custom<Record<string, unknown>>(isObject, "must be an object");

const buildSchema = once(() =>
  z.strictObject({
    name: z.string().check(z.regex(/^[\w.-]{1,64}$/, "must be the name of a servlet")),
    dialect: z.enum(dialectNames),
    /** `hashOf` its parts. */
    hash: digest(),
    parts: z.strictObject({
      module: digest(),
      base: z.optional(digest()),
      packages: z.optional(digest()),
      patch: z.optional(digest()),
      files: z.optional(z.record(z.string(), digest())),
      views: z.optional(z.record(z.string(), digest())),
      skills: z.optional(digest()),
    }),
    skills: z.optional(object()),
    startsOnce: z.boolean(),
    restorable: z.boolean(),
    neverWaits: z.optional(z.boolean()),
    mayAsk: z.optional(z.boolean()),
    exports: z.array(z.string()),
    manifest: object(),
    /** Absent if they are dynamic. */
    lists: z.optional(object()),
    definitions: z.optional(object()),
  }),
);

/** A servlet without its code, as it is sent and stored. */
export type Build = Omit<
  PreparedServlet,
  "module" | "base" | "packages" | "patch" | "files" | "views" | "skills"
> &
  Required<Pick<PreparedServlet, "parts">> & { skills?: Skills };

/** The hash of these parts, in 64 hex digits. A waiting call continues only with a program of the same hash. */
export async function hashOf(parts: PartDigests): Promise<string> {
  const { module, base = "", packages, patch = "" } = parts;
  return hexDigest([module, base, ...(packages === undefined ? [] : [packages]), patch].join(" "));
}

/** Parses a build. Throws `invalid_params` if its shape or hash is wrong. */
export async function readBuild(given: unknown): Promise<Build> {
  const read = buildSchema().safeParse(given);
  if (!read.success) throw invalidBuild(describeIssue(read.error.issues[0]));
  const build = read.data as unknown as Build;
  if (build.hash !== (await hashOf(build.parts))) throw invalidBuild("hash does not match parts");
  return build;
}

/** The fault of a build that cannot be used. */
export const invalidBuild = (why: string) =>
  new Fault(
    "invalid_params",
    `The build is not valid: ${why}. Make it with \`npm run servlets -- install\`.`,
  );

/** The fault of an install under the name of a bundled servlet or one of the server itself. */
export const nameTaken = (name: string) =>
  new Fault(
    "conflict",
    `The name ${name} belongs to a servlet of the bundle or of the server itself, or to a skill of the project. Install yours under another name.`,
  );

/** The fault of a change based on another version than `current`, the served one (0: none). */
export const changedMeanwhile = (name: string, current: number) => {
  const now = current === 0 ? "it is not installed now" : `version ${current} is served now`;
  return new Fault(
    "conflict",
    `Another operator has changed ${name} meanwhile: ${now}. Look at it with \`npm run servlets -- versions ${name}\`, then try again.`,
  );
};

/** The path and message of a zod issue, such as `lists.tools must be a list`. */
export const describeIssue = (issue?: { path: PropertyKey[]; message: string }): string =>
  [issue?.path.join("."), issue?.message].filter(Boolean).join(" ");

/** The digests of a build's parts, without duplicates. */
export const digestsOf = ({ parts: { files = {}, views = {}, ...code } }: Build): string[] => [
  ...new Set([code, files, views].flatMap((digests) => Object.values(digests))),
];
