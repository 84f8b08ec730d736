/** Finds the server that a servlet's modules have made, and makes the servlet's exports from it. */
import { answersOf } from "../answers.ts";
import { json } from "../json.ts";
import type { ExportHandler } from "../run.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { env, hasChanged, namesRead } from "./environment.ts";
import { exited } from "./process.ts";
import {
  changes,
  exportNoters,
  noteServer,
  offerLater,
  theOffer,
  type Json,
  type MethodHandler,
  type Offer,
} from "./registry.ts";
import { EXPORTS } from "./server.ts";

/** Set by the bundle step: the outputs of list exports, by export; empty while it learns them, or if lists are dynamic. */
declare const SERVLET_LISTS: Readonly<Record<string, string>>;

export interface Opened {
  answers: Record<string, ExportHandler>;
  /** Names of environment variables that module scope has read. */
  read: string[];
  /** True if one of their values has changed. */
  hasChanged(): boolean;
  instructions: string | undefined;
}

/** The member of each list's result, by method. */
export const LISTS: Readonly<Record<string, string>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** Opens the servlet whose entry has these exports. To be called when its modules have no pending work. */
export async function open(exported: Readonly<Record<string, unknown>>): Promise<Opened> {
  for (const value of new Set(Object.values(exported))) {
    for (const note of exportNoters) note(value);
  }
  const { default: factory } = exported;
  if (typeof factory === "function") offerLater(() => noteMade(factory as Factory));
  const offer = await theOffer().catch((error: unknown) => {
    throw exited.how === undefined
      ? error
      : new Error(`Module scope called process.${exited.how}.`, { cause: error });
  });
  const answers = answersBy(offer);
  if (Object.keys(answers).length === 0) {
    throw new Error(`The server ${JSON.stringify(offer.name)} offers nothing.`);
  }
  return { answers, read: namesRead(), hasChanged, instructions: offer.instructions };
}

type Factory = (given: { config: object }) => unknown;

/** Notes the server that an exported factory makes. Other functions make none, or fail. */
async function noteMade(factory: Factory): Promise<void> {
  noteServer(await Promise.try(factory, { config: env }).catch(() => undefined));
}

/** A server's answers, made again after its handlers have registered something. */
function answersBy(offer: Offer): Record<string, ExportHandler> {
  let current = answersNow(offer);
  const { oninitialized } = offer;
  let hasStarted = oninitialized === undefined;
  const answer = (name: string, input: Json): unknown => {
    if (changes.areThere) current = answersNow(offer);
    return current[name]?.(input);
  };
  const names = Object.keys(current).map((name) => [
    name,
    (input: Json) => {
      if (hasStarted) return answer(name, input);
      hasStarted = true;
      return Promise.resolve(oninitialized!()).then(() => answer(name, input));
    },
  ]);
  return Object.fromEntries(names) as Record<string, ExportHandler>;
}

function answersNow(offer: Offer): Record<string, ExportHandler> {
  changes.areThere = false;
  const byName = answersOf(offer.spec(), SERVLET_LISTS);
  const byMethod = [...offer.handlers].map(([method, handler]) => {
    const name = EXPORTS[method]!;
    const known = SERVLET_LISTS[name];
    return [name, known === undefined ? answerOf(method, handler) : () => known];
  });
  return { ...byName, ...(Object.fromEntries(byMethod) as Record<string, ExportHandler>) };
}

function answerOf(method: string, handler: MethodHandler): ExportHandler {
  const what = `The answer of ${method}`;
  const member = LISTS[method];
  return async (input) => {
    const params = paramsOf(input);
    return json(await (member ? listOf(handler, params, member) : handler(params)), what);
  };
}

function paramsOf({ request, context }: Json): Json {
  const params = isObject(request) ? request : {};
  const meta = isObject(context) ? context["_meta"] : undefined;
  return isObject(meta) ? { ...params, _meta: meta } : params;
}

/** Maximum number of pages that are read of a list. */
const PAGES = 100;

/** A handler's complete list, joined from its pages. */
async function listOf(handler: MethodHandler, params: Json, member: string): Promise<Json> {
  const all: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < PAGES; page++) {
    const result = await handler(cursor === undefined ? params : { ...params, cursor });
    const { [member]: some, nextCursor } = isObject(result) ? result : {};
    if (!Array.isArray(some)) throw new Error(`The handler's answer has no ${member}.`);
    all.push(...some);
    if (nextCursor === undefined) break;
    cursor = nextCursor;
  }
  return { [member]: all };
}
