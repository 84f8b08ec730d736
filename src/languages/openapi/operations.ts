/** Chooses the operations of a description that become tools, and names them. */
import { isObject } from "../../server/kernel/core/model.ts";
import { fits } from "../../server/kernel/core/glob.ts";
import { NAME_CHARACTERS } from "../../server/kernel/servlets/concerns.ts";
import { Refusal } from "../../tools/bundle/refusal.ts";
import {
  type Description,
  HTTP_METHODS,
  type HttpMethod,
  type OperationObject,
  type PathItem,
} from "./description.ts";
import { UniqueNames, nameWithin, snake } from "./words.ts";

/** Maximum number of tools in a servlet: models choose badly among more. */
const MOST_TOOLS = 40;
/** Maximum number of tags or paths in a message. */
const MOST_GROUPS = 40;

export interface Operation {
  method: HttpMethod;
  path: string;
  /** The tool's name. */
  name: string;
  item: PathItem;
  object: OperationObject;
}

/** Selects operations by tags, and by globs on tool names, operation ids, paths, and methods with paths. */
export interface Choice {
  only?: readonly string[] | undefined;
  tag?: readonly string[] | undefined;
}

/** All operations of a description. Their tool names begin with the servlet's name. */
export function operationsOf(description: Description, servlet: string): Operation[] {
  const prefix = `${snake(servlet)}_`;
  const names = new UniqueNames();
  return Object.entries(description.document.paths).flatMap(([path, given]) => {
    const item = isObject(given) ? description.resolved<PathItem>(given) : {};
    return HTTP_METHODS.flatMap((method) => {
      const object = item[method];
      if (!isObject(object)) return [];
      const { operationId } = object as OperationObject;
      const own =
        snake(typeof operationId === "string" ? operationId : "") || snake(`${method} ${path}`);
      const whole = own.startsWith(prefix) ? own : `${prefix}${own}`;
      const short = nameWithin(whole, NAME_CHARACTERS);
      const name = names.take(short, short, (count) => {
        const end = `_${count}`;
        return `${nameWithin(whole, NAME_CHARACTERS - end.length)}${end}`;
      });
      return [{ method, path, name, item, object }];
    });
  });
}

/** The operations that match a choice. Throws a `Refusal` with advice if there are none or too many. */
export function chosenFrom(
  all: readonly Operation[],
  { only = [], tag = [] }: Choice,
  from: string,
): Operation[] {
  const isWanted = ({ name, method, path, object }: Operation) => {
    const texts = [name, object.operationId ?? name, path, `${method.toUpperCase()} ${path}`];
    const isTagged = tag.length === 0 || tag.some((one) => (object.tags ?? []).includes(one));
    return (
      isTagged && (only.length === 0 || only.some((glob) => texts.some((text) => fits(glob, text))))
    );
  };
  const wanted = all.filter(isWanted);
  const current = wanted.filter(
    ({ object }) => object.deprecated !== true || only.includes(object.operationId ?? ""),
  );
  if (wanted.length === 0) {
    throw new Refusal(`${from}: nothing in it is chosen. ${howToChoose(all)}`);
  }
  if (current.length === 0) {
    throw new Refusal(
      `${from}: all that is chosen is deprecated; to have it all the same, give its operation id to --only`,
    );
  }
  if (current.length > MOST_TOOLS) {
    throw new Refusal(
      `${from}: ${current.length} operations would be ${current.length} tools, and a model chooses badly among more than ${MOST_TOOLS}. ${howToChoose(current)}`,
    );
  }
  return current;
}

/** Lists the tags, or path prefixes if there are not several tags, with their numbers of operations. */
function howToChoose(operations: readonly Operation[]): string {
  const tags = countsOf(operations.flatMap(({ object }) => object.tags ?? []));
  const [option, counts] = tags.length > 1 ? ["--tag", tags] : ["--only", pathsOf(operations)];
  const some = operations[0]?.object.operationId ?? operations[0]?.path;
  return [
    "Choose by --tag, and by --only with globs on operation ids and paths; both can be repeated:",
    ...counts
      .slice(0, MOST_GROUPS)
      .map(([name, count]) => `  ${String(count).padStart(5)}  ${option} ${JSON.stringify(name)}`),
    ...(counts.length > MOST_GROUPS ? [`         and ${counts.length - MOST_GROUPS} more`] : []),
    `or one alone: --only ${JSON.stringify(some)}`,
  ].join("\n");
}

/** The shortest globs on path prefixes that each select few enough operations, with their numbers of operations. */
function pathsOf(operations: readonly Operation[]): [string, number][] {
  const beginningsOf = (length: number) =>
    countsOf(
      operations.map(({ path }) => {
        const parts = path.replaceAll(/\{[^{}]*\}/g, "*").split("/");
        return `${parts.slice(0, length + 1).join("/")}${parts.length > length + 1 ? "/*" : ""}`;
      }),
    );
  const all = [1, 2, 3, 4, 5, 6].map(beginningsOf);
  const listable = all.filter((counts) => counts.length <= MOST_GROUPS);
  return listable.find(([[, most] = ["", 0]]) => most <= MOST_TOOLS) ?? listable.at(-1) ?? all[0]!;
}

/** The number of occurrences of each name, in descending order. */
function countsOf(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}
