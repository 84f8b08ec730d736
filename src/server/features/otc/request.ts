/**
 * Request bodies.
 * https://github.com/OpenToolCalling/Specification/blob/45b1208/spec/http/1.0/openapi.json
 */
import * as z from "zod/mini";
import { canonicalJson } from "../../kernel/core/digest.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "../../kernel/core/limits.ts";
import { once } from "../../kernel/core/once.ts";
import type { CallCredentials } from "../../kernel/core/call-context.ts";
import { isObject, type Json, type ToolDefinition } from "../../kernel/core/model.ts";

/** Maximum secrets and maximum tokens of a call: tools need a few. */
const CONTEXT_ENTRIES = 100;

/** The default `$schema` of responses. */
export const LATEST =
  "https://github.com/OpenToolCalling/Specification/tree/main/spec/http/1.0/openapi.json";

/** URLs and URNs of version 1.0. */
const VERSION_1 =
  /^(otc:\/\/1\.0|urn:oxp:1\.0|https:\/\/(github|raw\.githubusercontent)\.com\/(ArcadeAI\/OpenToolCalling|(OpenToolCalling|OpenExecProtocol)\/Specification)\/((tree|blob|raw)\/)?(refs\/heads\/)?[\w.-]+\/spec(ification)?\/http\/1\.0\/openapi\.json)$/;

const text = () =>
  z
    .string("must be a string")
    .check(
      z.refine((one) => one.isWellFormed(), "must be well-formed Unicode: no lone surrogates"),
    );
/** A text of bounded length. Reads the limit at each use, since the configuration may change it. */
const upTo = (limit: "idCharacters" | "secretCharacters") =>
  text().check(
    z.refine((one) => one.length <= limits[limit], {
      error: () => `must have at most ${limits[limit]} characters`,
    }),
  );
const id = () => upTo("idCharacters").check(z.minLength(1, "must not be empty"));
const list = <T extends z.ZodMiniType>(item: T) =>
  z.optional(
    z.array(item, "must be an array of objects").check(
      z.refine((all) => all.length <= CONTEXT_ENTRIES, {
        error: () => `must have at most ${CONTEXT_ENTRIES} entries`,
      }),
    ),
  );

/** `CallToolRequest`: the specification closes it, and leaves the objects in it open. */
const requestSchema = once(() =>
  z.strictObject(
    {
      call_id: z.optional(id()),
      trace_id: z.optional(id()),
      tool_id: text().check(
        z.regex(
          /^[A-Za-z0-9_]+\.[A-Za-z0-9_]+(@([0-9]+|[0-9]+\.[0-9]+\.[0-9]+))?$/,
          "must be Toolkit.Tool, Toolkit.Tool@1 or Toolkit.Tool@1.0.0, of letters, digits and _",
        ),
      ),
      input: z.optional(z.custom<Json>(isObject, "must be an object")),
      context: z.optional(
        z.object(
          {
            authorization: list(
              z.object({ id: text(), token: upTo("secretCharacters") }, "must be an object"),
            ),
            secrets: list(
              z.object({ id: text(), value: upTo("secretCharacters") }, "must be an object"),
            ),
            user_id: z.optional(upTo("idCharacters")),
          },
          "must be an object",
        ),
      ),
    },
    {
      error: ({ code }) =>
        code === "unrecognized_keys"
          ? "may have call_id, trace_id, tool_id, input and context, and nothing else"
          : "must be an object",
    },
  ),
);

export type CallToolRequest = z.infer<ReturnType<typeof requestSchema>>;

/**
 * The `$schema` that a body has and that its response will have.
 *
 * Throws `unsupported_version`.
 */
export function schemaVersionOf(body: unknown): string {
  const given = isObject(body) ? body["$schema"] : undefined;
  if (given === undefined) return LATEST;
  if (typeof given === "string" && VERSION_1.test(given)) return given;
  throw new Fault(
    "unsupported_version",
    `This $schema is not supported. Leave it out, or send one of version 1.0: ${LATEST}, otc://1.0 or urn:oxp:1.0.`,
  );
}

/** Throws `invalid_request` that names the wrong member, and quotes nothing of the request. */
export function requestIn(body: unknown): CallToolRequest {
  const request = isObject(body) ? body["request"] : undefined;
  if (request === undefined) {
    throw new Fault("invalid_request", 'The body must be {"request": {"tool_id": …, "input": …}}.');
  }
  const read = requestSchema().safeParse(request);
  if (read.success) return read.data;
  const [{ path, message }] = read.error.issues as [z.core.$ZodIssue];
  throw new Fault("invalid_request", `${["request", ...path].join(".")} ${message}.`);
}

/** The secrets and tokens of the request, by id. */
export const allCredentials = ({ context = {} }: CallToolRequest): CallCredentials => ({
  tokens: new Map(context.authorization?.map(({ id: of, token }) => [of, token])),
  secrets: new Map(context.secrets?.map(({ id: of, value }) => [of, value])),
});

/**
 * The credentials in the request that the tool requires, and no others: callers must not set other
 * config of a servlet.
 *
 * Throws `invalid_request` that names the missing one.
 */
export function credentialsFor(
  request: CallToolRequest,
  { id: tool, requirements: needs = {} }: ToolDefinition,
): CallCredentials {
  const missing = (what: string) =>
    new Fault("invalid_request", `${tool} needs ${what} in request.context.`);
  const pick = (
    wanted: readonly { id: string }[] = [],
    given: ReadonlyMap<string, string>,
    what: (id: string) => string,
  ) =>
    new Map(
      wanted.map(({ id: of }) => {
        const value = given.get(of);
        if (!value) throw missing(what(of));
        return [of, value];
      }),
    );
  const { tokens, secrets } = allCredentials(request);
  const { user_id } = request.context ?? {};
  if (needs.user_id === true && !user_id) throw missing("user_id");
  return {
    tokens: pick(needs.authorization, tokens, (of) => `a token for ${of} (authorization)`),
    secrets: pick(needs.secrets, secrets, (of) => `the secret ${of} (secrets)`),
    ...(needs.user_id === true && user_id && { userId: user_id }),
  };
}

/** Equal text for equal calls, whatever their `trace_id` and the order of their members. */
export const canonical = ({ tool_id, input = {}, context = {} }: CallToolRequest): string =>
  canonicalJson({ tool_id, input, context });
