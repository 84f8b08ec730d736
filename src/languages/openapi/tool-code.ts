/** Prints a tool as TypeScript: its zod schemas, and a handler that makes its request. */
import { isPlain, type ApiTool, type Argument, type FixedMember, type Place } from "./api-tool.ts";
import { withDescription, type Schemas } from "./schemas.ts";

const FIELDS = `z.optional(z.array(z.string()).check(z.describe("Fields of the answer to keep, such as id or owner.name.")))`;
const NEXT = `z.optional(z.string().check(z.describe("\`next\` of the previous answer, to get the page after it.")))`;

/** The code of the schemas of a tool's arguments, by argument name. */
export function inputsOf({ arguments: all, takesFields, paging }: ApiTool): Map<string, string> {
  const inputs = new Map(
    all.map((one) => [one.name, one.isRequired ? one.schema : `z.optional(${one.schema})`]),
  );
  if (takesFields) inputs.set("fields", FIELDS);
  if (paging !== undefined) inputs.set("next", NEXT);
  return inputs;
}

/** The names that a tool imports from `edge-servlets/api`. */
export const importsOf = (tool: ApiTool): string[] => (hasPathArgument(tool) ? ["path"] : []);

/** The code of a tool, as a member of `tools`. `inputs` is the code of the members of its input. */
export function toolCode(tool: ApiTool, inputs: readonly string[], schemas: Schemas): string {
  const { name, description, annotations, additional, output } = tool;
  const lines = inputs.length > 1 ? `\n${inputs.join(",\n")},\n` : ` ${inputs.join("")} `;
  const { schema, depth = 0 } = additional ?? {};
  const hints = Object.entries(annotations).map(([hint, value]) => `${hint}: ${value}`);
  const members = [
    `description: ${JSON.stringify(description)}`,
    ...(inputs.length === 0 && additional === undefined
      ? []
      : [`input: ${schemas.openObject(`{${lines}}`, schema, depth)}`]),
    ...(output === undefined ? [] : [`output: ${outputCode(output)}`]),
    `annotations: { ${hints.join(", ")} }`,
    `handler: ${handlerCode(tool)}`,
  ];
  return `${name}: {\n${members.join(",\n")},\n},`;
}

/** The code of an output schema. It allows missing and additional members, because APIs have both. */
function outputCode(members: NonNullable<ApiTool["output"]>): string {
  const lines = members.map(
    ({ name, type, description }) =>
      `${JSON.stringify(name)}: ${withDescription(`z.nullish(z.${type}())`, description)},`,
  );
  return `z.looseObject({\n${lines.join("\n")}\n})`;
}

function handlerCode(tool: ApiTool): string {
  const { takesFields, paging } = tool;
  const { method, rest } = tool.request;
  const locals = localsOf(tool);
  const taken = [
    ...[...locals].map(([{ name }, local]) => (local === name ? name : `${name}: ${local}`)),
    ...(takesFields ? ["fields"] : []),
    ...(paging === undefined ? [] : ["next"]),
  ];
  const all = [...taken, ...(rest === undefined ? [] : [`...${rest}`])];
  const input = taken.length === 0 ? (rest ?? "_") : `{ ${all.join(", ")} }`;
  const request = requestCode(tool, locals);
  const parts = ["context", pathCode(tool, locals), ...(request === "" ? [] : [`{ ${request} }`])];
  return `(${input}, context) => api.${method}(${parts.join(", ")})`;
}

/** The variables of arguments that a handler destructures. The other arguments are in its rest property. */
type Locals = ReadonlyMap<Argument, string>;

function localsOf({ arguments: all, request: { rest } }: ApiTool): Locals {
  const own = all.filter((one) => one.place !== rest || !isPlain(one));
  const names = new Set([...RESERVED, rest, ...own.map((one) => one.name)]);
  return new Map(
    own.map((one) => {
      let local = one.name;
      if (RESERVED.has(local) || local === rest) while (names.has(local)) local += "_";
      names.add(local);
      return [one, local];
    }),
  );
}

/** Names that a handler's variables cannot have. */
const RESERVED = new Set(
  `api path context crypto z JSON Object Uint8Array arguments await break case catch class const
continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof
interface let new null package private protected public return static super switch this throw true try typeof undefined var void
while with yield`.split(/\s+/),
);

const hasPathArgument = (tool: ApiTool) => tool.arguments.some(({ place }) => place === "path");

function pathCode(tool: ApiTool, locals: Locals): string {
  const { path } = tool.request;
  if (!hasPathArgument(tool))
    return JSON.stringify(path.filter((part) => typeof part === "string").join(""));
  const code = path.map((part) =>
    typeof part === "string" ? inTemplate(part) : `\${${locals.get(part)}}`,
  );
  return `path\`${code.join("")}\``;
}

/** A text, escaped for a template literal. */
const inTemplate = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll(/`|\$(?=\{)/g, "\\$&");

/** The members of a request other than its path; "" if there are none. */
function requestCode(tool: ApiTool, locals: Locals): string {
  const { takesFields, paging, request } = tool;
  const placed = (place: Place) => placeCode(place, tool, locals);
  const styles = (member: string, ...places: Place[]) => stylesCode(member, places, tool.arguments);
  const body = [...locals].find(([{ place }]) => place === "body");
  return [
    placed("query"),
    placed("headers"),
    styles("styles", "query", "headers"),
    placed("json"),
    placed("form"),
    placed("multipart"),
    styles("encoding", "form", "multipart"),
    body && `body: ${valueCode(...body)}`,
    takesFields ? "fields" : undefined,
    paging && "next",
    paging?.at === undefined ? undefined : `nextAt: ${JSON.stringify(paging.at)}`,
    paging?.cursor === undefined ? undefined : `nextIn: ${JSON.stringify(paging.cursor)}`,
    request.isAnonymous ? "anonymous: true" : undefined,
  ]
    .filter((one) => one !== undefined)
    .join(", ");
}

/** The member of a request for one place. */
function placeCode(place: Place, { request }: ApiTool, locals: Locals): string | undefined {
  const own = [...locals].filter(([one]) => one.place === place);
  const whole = own.find(([one]) => one.isWhole);
  if (whole !== undefined) return `${place}: ${valueCode(...whole)}`;
  const entries = [
    ...own.map(([one, local]) => {
      const value = valueCode(one, local);
      return value === one.key ? value : `${memberName(one.key)}: ${value}`;
    }),
    ...request.fixed.filter((one) => one.place === place).map(fixedCode),
  ];
  if (place === request.rest) {
    return entries.length === 0 ? place : `${place}: { ...${place}, ${entries.join(", ")} }`;
  }
  return entries.length === 0 ? undefined : `${place}: { ${entries.join(", ")} }`;
}

const fixedCode = ({ key, text }: FixedMember): string =>
  `${memberName(key)}: ${text === undefined ? "crypto.randomUUID()" : JSON.stringify(text)}`;

/** The value of an argument in the request. */
function valueCode({ conversion, isRequired }: Argument, local: string): string {
  switch (conversion) {
    case "json":
      return `JSON.stringify(${local})`;
    case "bytes":
      return `${isRequired ? "" : `${local} && `}Uint8Array.fromBase64(${local})`;
    case "list of bytes":
      return `${local}${isRequired ? "" : "?"}.map((file) => Uint8Array.fromBase64(file))`;
    case undefined:
      return local;
  }
}

function stylesCode(
  member: string,
  places: readonly Place[],
  all: readonly Argument[],
): string | undefined {
  const styled = places
    .flatMap((place) => all.filter((one) => one.place === place))
    .filter(({ style }) => style);
  const entries = styled.map(
    ({ key, style }) => `${memberName(key)}: ${JSON.stringify(style)}${constFor(key)}`,
  );
  return entries.length === 0 ? undefined : `${member}: { ${entries.join(", ")} }`;
}

/** The code of a member's name in an object literal. Without brackets, `__proto__` would set the prototype. */
const memberName = (key: string): string =>
  key === "__proto__" ? '["__proto__"]' : JSON.stringify(key);

/** Keeps a literal type in members such as `constructor`, where TypeScript expects the type inherited from `Object`. */
const constFor = (key: string): string => (key in {} ? " as const" : "");
