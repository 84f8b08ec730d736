import { Fault } from "../../errors.ts";
import { limits } from "../../limits.ts";
import type { Json, Lists } from "../../model.ts";
import type { Registry } from "../../servlets/registry.ts";
import type { CompletionRequest } from "../../servlets/servlet.ts";
import type { Target } from "../method.ts";
import { cursorText, object, string, strings, uriIn } from "./params.ts";

/** Look up the targets of methods of both eras. All throw `invalid_params` and `insufficient_scope`. */

export async function findTool(params: Json, registry: Registry): Promise<Target> {
  const tool = await registry.tool(string(params, "name"));
  const args = object(params, "arguments");
  return { subject: tool.tool.name, tool, run: (call) => registry.callTool(tool, args, call) };
}

export async function findResource(params: Json, registry: Registry): Promise<Target> {
  const entry = await registry.resource(uriIn(params));
  return { subject: entry.subject, run: (call) => registry.readResource(entry, call) };
}

export async function findPrompt(params: Json, registry: Registry): Promise<Target> {
  const name = string(params, "name");
  const entry = await registry.prompt(name);
  const args = strings(params, "arguments");
  return { subject: name, run: (call) => registry.getPrompt(entry, args, call) };
}

export async function findCompletion(params: Json, registry: Registry): Promise<Target> {
  const completer = await registry.completer(completionRequest(params));
  return { run: (call) => registry.complete(completer, call) };
}

/** The named servlet's handler of changed roots. */
export async function findRootsHandler(params: Json, registry: Registry): Promise<Target> {
  const servlet = string(params, "servlet");
  return { run: (call) => registry.rootsChanged(servlet, call) };
}

export const findList =
  (kind: keyof Lists) =>
  async ({ cursor }: Json, registry: Registry): Promise<Target> => ({
    run: async () => page(kind, (await registry.catalog()).lists[kind], cursor),
  });

/** One page of a list. A cursor holds the start of its page and the length of the list, so that a stale one is detected. */
function page<K extends keyof Lists>(kind: K, whole: Lists[K], cursor: unknown): Json {
  const start = cursor === undefined ? 0 : startOf(cursor, kind, whole.length);
  const end = start + limits.pageItems;
  const items = start === 0 && end >= whole.length ? whole : whole.slice(start, end);
  if (end >= whole.length) return { [kind]: items };
  return { [kind]: items, nextCursor: btoa(`${kind}:${end}:${whole.length}`) };
}

function startOf(cursor: unknown, kind: string, length: number): number {
  const [, of, start, before] = /^(\w+):(\d+):(\d+)$/.exec(cursorText(cursor)) ?? [];
  if (of !== kind || Number(before) !== length || Number(start) >= length) {
    throw new Fault("invalid_params", "The cursor is unknown or stale. List again without one.");
  }
  return Number(start);
}

function completionRequest(params: Json): CompletionRequest {
  const ref = object(params, "ref");
  const argument = object(params, "argument");
  const given = object(params, "context");
  const context =
    given["arguments"] === undefined ? {} : { context: { arguments: strings(given, "arguments") } };
  const about = {
    argument: { name: string(argument, "name"), value: string(argument, "value") },
    ...context,
  };
  switch (ref["type"]) {
    case "ref/prompt":
      return { ref: { type: "ref/prompt", name: string(ref, "name") }, ...about };
    case "ref/resource":
      return { ref: { type: "ref/resource", uri: uriIn(ref) }, ...about };
    default:
      throw new Fault("invalid_params", "params.ref.type must be ref/prompt or ref/resource.");
  }
}
