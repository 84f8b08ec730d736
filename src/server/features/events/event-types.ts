/** The types of events that this server has, under the names that clients see. */
import { canonicalJson } from "../../kernel/core/digest.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { isObject, type Json } from "../../kernel/core/model.ts";
import { nearest } from "../../kernel/core/nearest.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import type { Access } from "../../kernel/servlets/access.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import { listedName } from "../../kernel/servlets/catalog.ts";
import { checkOf, describeIssues } from "../../kernel/servlets/checks.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { eventFault, noEvent } from "./wire.ts";

type EventSpec = NonNullable<Manifest["events"]>[string];

/** A type of events. */
export interface EventType {
  /** The name that clients see. */
  name: string;
  servlet: string;
  /** The servlet's own name for it. */
  own: string;
  spec: EventSpec;
  /** True if some of its events are for everyone. */
  isShared: boolean;
}

/** The types that one servlet defines, by their own names. */
const typesIn = ({ name, manifest: { events = {} } }: PreparedServlet) =>
  Object.entries(events).map(([own, spec]) => ({
    servlet: name,
    own,
    spec,
    isShared: spec.to === "everyone",
  }));

/**
 * All types by the names that clients see: with the servlet's prefix if it has one, else the servlet's own name; if
 * several servlets have it, each one's name goes before it. The name does not depend on who asks.
 */
const typesOf = oncePer((servlets: readonly PreparedServlet[]): ReadonlyMap<string, EventType> => {
  const all = servlets.flatMap((servlet) =>
    typesIn(servlet).map((type) => ({
      ...type,
      name: listedName(type.own, servlet.manifest.prefix),
    })),
  );
  const counts = Map.groupBy(all, ({ name }) => name);
  return new Map(
    all.map((type) => {
      const isUnique = counts.get(type.name)!.length === 1;
      const name = isUnique ? type.name : listedName(type.own, type.servlet);
      return [name, { ...type, name }];
    }),
  );
});

/** The key of a type in the log of events: names of events have no space. */
export const typeKey = ({ servlet, own }: Pick<EventType, "servlet" | "own">): string =>
  `${servlet} ${own}`;

/** The URI of the resource that is a type's newest event. */
export const eventUri = ({ servlet, own }: Pick<EventType, "servlet" | "own">): string =>
  `event://${servlet}/${own}`;

/** True if a caller with this access may subscribe: its scopes and profile name an event as they do a resource. */
export const mayHear = ({ may }: Access, { servlet, own }: EventType): boolean => may(servlet, own);

/** The types that a caller may subscribe to, of those of the whole server, in the order of their names. */
export function typesFor(whole: Registry, access: Access): EventType[] {
  const all = [...typesOf(whole.servlets).values()].filter((type) => mayHear(access, type));
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The type with this name. Throws the extension's faults `notFound` and `forbidden`. */
export function typeNamed(name: string, whole: Registry, access: Access): EventType {
  const all = typesOf(whole.servlets);
  const found = all.get(name);
  if (found !== undefined && mayHear(access, found)) return found;
  if (found !== undefined && access.isNarrow && !access.isAtProfile)
    throw eventFault(
      "forbidden",
      `Your scopes do not grant the event ${name}. Sign in with a scope such as ${found.servlet}:${found.own}.`,
      { reason: "insufficient_scope", scope: `${found.servlet}:${found.own}` },
    );
  const meant = nearest(
    name,
    typesFor(whole, access).map((type) => type.name),
  );
  throw noEvent(name, meant === undefined ? "" : ` Did you mean ${meant}?`);
}

/** The type of a servlet's own event; undefined if the servlet no longer has it. */
export const currentType = (
  { servlet, own }: Pick<EventType, "servlet" | "own">,
  whole: Registry,
): EventType | undefined =>
  typesOf(whole.servlets)
    .values()
    .find((type) => type.servlet === servlet && type.own === own);

/** A type as `events/list` describes it. */
export function describedType({ name, spec }: EventType, canPush: boolean): Json {
  const { description, input = NO_ARGUMENTS, payload } = spec;
  return {
    name,
    description,
    delivery: ["poll", ...(canPush ? ["push"] : []), "webhook"],
    inputSchema: input,
    payloadSchema: payload,
  };
}

const NO_ARGUMENTS = { type: "object", properties: {}, additionalProperties: false };

/** Throws `invalid_params` if the arguments do not match the type's input schema. */
export function demandEventArguments(type: EventType, given: Json): void {
  const issues = argumentIssues(type, given);
  if (issues !== undefined)
    throw new Fault(
      "invalid_params",
      `params.arguments do not match the inputSchema of ${type.name}: ${issues}.`,
    );
}

/** The issues of arguments as text; undefined if they match the type's input schema. */
export function argumentIssues(
  { name, spec: { input = NO_ARGUMENTS } }: EventType,
  given: Json,
): string | undefined {
  const issues = checkOf(input, { name: `input of the event ${name}`, isInput: true })(given);
  return issues && describeIssues(issues);
}

/** The issues of an event's data as text; undefined if it is valid. */
export function dataIssues({ payload }: EventSpec, own: string, data: Json): string | undefined {
  const issues = checkOf(payload, { name: `payload of the event ${own}` })(data);
  return issues && describeIssues(issues);
}

/** True if each argument equals the member of the data with the same name. */
export const matchesArguments = (given: Json, data: Json): boolean =>
  Object.entries(given).every(
    ([name, value]) =>
      Object.hasOwn(data, name) &&
      (value === data[name] ||
        (typeof value === "object" && value !== null && isSame(value, data[name]))),
  );

const isSame = (one: unknown, other: unknown): boolean =>
  (isObject(other) || Array.isArray(other)) && canonicalJson(one) === canonicalJson(other);
