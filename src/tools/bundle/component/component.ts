/**
 * Reads a component of the WebAssembly component model: its core modules, how they are linked, what it imports and exports.
 * Format: https://github.com/WebAssembly/component-model/blob/main/design/mvp/Binary.md
 */
import { eachSection, Reader, type Section } from "../wasm/bytes.ts";
import { Refusal } from "../refusal.ts";

/** A type of values. Types of the same name in an interface are one object. */
export type ValueType =
  | { kind: Primitive }
  | { kind: "record"; fields: NamedType[] }
  | { kind: "variant"; cases: Case[] }
  | { kind: "list"; of: ValueType }
  | { kind: "tuple"; of: ValueType[] }
  | { kind: "flags" | "enum"; names: string[] }
  | { kind: "option"; of: ValueType }
  | { kind: "result"; ok?: ValueType | undefined; err?: ValueType | undefined }
  | { kind: "handle" }
  | { kind: "stream" | "future"; of?: ValueType | undefined };

export interface NamedType {
  name: string;
  type: ValueType;
}

interface Case {
  name: string;
  type?: ValueType | undefined;
}

type Primitive = (typeof PRIMITIVES)[number];

/** From the byte 0x7f downwards. */
const PRIMITIVES = [
  "bool",
  "s8",
  "u8",
  "s16",
  "u16",
  "s32",
  "u32",
  "s64",
  "u64",
  "f32",
  "f64",
  "char",
  "string",
] as const;

export interface FunctionType {
  params: NamedType[];
  result?: ValueType | undefined;
}

/** Canonical options (`canonopt`) of a lifted or lowered function, or of a built-in. */
interface Options {
  memory?: CoreItem;
  realloc?: CoreItem;
  postReturn?: CoreItem;
  isAsync?: boolean;
  /** Core function that is called with each event, until it returns EXIT. */
  callback?: CoreItem;
}

/** A function of the component's interface. */
export type ComponentFunction =
  | { from: "host"; module: string; name: string; type: FunctionType }
  | ({ from: "component"; core: CoreItem; type: FunctionType } & Options);

/** A function for core modules that the host gives. */
export type HostItem =
  | ({ call: "lower"; of: ComponentFunction } & Options)
  | { call: "drop"; module: string; name: string }
  | ({ call: "task.return"; result: ValueType | undefined } & Options)
  | BuiltIn;

/** A built-in of the component model: `stream.read` of streams of one type, for example. */
export type BuiltIn = {
  call: "built-in";
  name: string;
  of?: ValueType | undefined;
  /** Index of the value of the task: 0 or 1. */
  context?: number;
} & Options;

/** Something that a core module may import. */
export type CoreItem = { instance: CoreInstance; name: string } | HostItem;

/** An instance of a core module, or a set of items under names. */
export type CoreInstance =
  | { module: Uint8Array; args: Map<string, CoreInstance> }
  | { items: Map<string, CoreItem> };

interface Resource {
  resource: { module: string; name: string };
}
type Scope = Record<Sort, unknown[]> & { outer?: Scope; whole: Whole };
type Sort = (typeof SORTS)[number] | (typeof CORE_SORTS)[number];
type Instance = Map<string, Item>;
interface Item {
  sort: Sort;
  item: unknown;
}
/** The state that the readers of all parts of a component share. */
interface Whole {
  instances: CoreInstance[];
  /** How many more bytes of definitions may be read: those of a nested component are read for each of its instances. */
  bytes: number;
  /** The bytes of all instances of core modules: each is linked with its own copy. */
  modules: number;
}
/** Makes an instance from what is imported under each name. */
type Component = (args: (name: string, description: Description) => Item) => Instance;
/** The shape of something that is imported or exported. */
type Description = { sort: Sort; of?: unknown };
/** The items that an instance of a type has, in an import of this name. */
type InstanceType = (module: string) => Instance;

const SORTS = ["", "function", "value", "type", "component", "instance"] as const;
const CORE_SORTS = [
  "core function",
  "core table",
  "core memory",
  "core global",
  "core type",
  "core module",
  "core instance",
] as const;

/** Bytes of a component's definitions: one in Python has 4,000 items. */
const DEFINITION_BYTES = 10_000_000;
/** The least that a section or an item counts for: even an empty one takes time and memory. */
const ITEM_BYTES = 100;
/** Bytes of all instances of core modules, with their debug information. */
const MODULE_BYTES = 1 << 28;
/** Instances of core modules: components of languages with shared libraries have dozens. */
const MOST_INSTANCES = 500;
/** Values in one value of a type, with a list counted as one element. An enum of 2,000 cases is compiled in seconds. */
const TYPE_PARTS = 2000;
/** Characters of a name in an interface. Names are in the code of the glue, and those of interfaces are below 100. */
const NAME_CHARACTERS = 300;
/** Characters that count as one more part of a type. */
const PART_CHARACTERS = 50;

export interface ComponentOutline {
  /** Instances of core modules, in the order in which they start. */
  instances: Extract<CoreInstance, { module: Uint8Array }>[];
  /** Exported functions, each with the interface that it is in, if any. */
  exports: { interface?: string; name: string; function: ComponentFunction }[];
}

/** True for the bytes of a component, not of a core module. */
export const isComponent = (wasm: Uint8Array): boolean =>
  wasm.length >= 8 && wasm[0] === 0 && wasm[1] === 0x61 && wasm[4] === 0x0d && wasm[6] === 1;

/** A message may hold names that the component gives. */
const MESSAGE_CHARACTERS = 1000;

/** Does something with a component's bytes; throws a `Refusal` where they are not one. */
export const withComponent = <T>(work: () => T | Promise<T>): Promise<T> =>
  Promise.try(work).catch((error: Error) => {
    if (error instanceof Refusal)
      throw error.message.length > MESSAGE_CHARACTERS
        ? new Refusal(`${error.message.slice(0, MESSAGE_CHARACTERS)}…`)
        : error;
    if (error instanceof RangeError)
      throw new Refusal("the component is nested too deeply: build it with simpler types");
    throw new Refusal(`it is not a whole component (${error.message}): build or copy it again`);
  });

/** Throws a `Refusal` for a component that uses what is not supported, and an `Error` for what is not one. */
export function readComponent(wasm: Uint8Array): ComponentOutline {
  const whole: Whole = { instances: [], bytes: DEFINITION_BYTES, modules: 0 };
  const exported = componentOf(wasm, undefined, whole)(imported);
  return {
    instances: whole.instances.filter((one) => "module" in one),
    exports: [...exported].flatMap(([name, { sort, item }]) => {
      if (sort === "function") return [{ name, function: item as ComponentFunction }];
      if (sort !== "instance") return [];
      count(whole, ITEM_BYTES * (item as Instance).size);
      return [...(item as Instance)].flatMap(([inner, one]) =>
        one.sort === "function"
          ? [{ interface: name, name: inner, function: one.item as ComponentFunction }]
          : [],
      );
    }),
  };
}

/** What the server provides for an import of the whole component. */
function imported(name: string, { sort, of }: Description): Item {
  if (sort === "instance") return { sort, item: (of as InstanceType)(name) };
  if (sort === "function")
    return { sort, item: { from: "host", module: "", name, type: of as FunctionType } };
  if (sort === "type") return { sort, item: of ?? { resource: { module: "", name } } };
  throw new Refusal(
    `the component imports the ${sort} ${name}: only functions and interfaces can be given`,
  );
}

const newScope = (outer: Scope | undefined, whole: Whole): Scope =>
  Object.assign(
    { whole, ...(outer && { outer }) },
    Object.fromEntries([...SORTS, ...CORE_SORTS].map((sort) => [sort, []])),
  ) as unknown as Scope;

const componentOf =
  (wasm: Uint8Array, outer: Scope | undefined, whole: Whole): Component =>
  (args) => {
    const scope = newScope(outer, whole);
    const exports: Instance = new Map();
    for (const section of eachSection(wasm)) readSection(section, { scope, exports, args });
    return exports;
  };

interface Making {
  scope: Scope;
  exports: Instance;
  args: Parameters<Component>[0];
}

/** Counts bytes of definitions. Throws a `Refusal` for too many. */
function count(whole: Whole, bytes: number): void {
  whole.bytes -= bytes;
  if (whole.bytes < 0) throw new Refusal("the component is too large: build it with fewer parts");
}

function readSection({ id, body }: Section, { scope, exports, args }: Making): void {
  const reader = new Reader(body);
  count(scope.whole, ITEM_BYTES);
  const list = (one: () => void) => {
    count(scope.whole, body.length);
    for (let left = reader.number(); left > 0; left--) {
      count(scope.whole, ITEM_BYTES);
      one();
    }
  };
  switch (id) {
    case 0:
      return;
    case 1:
      scope["core module"].push(body);
      return;
    case 2:
      return list(() => scope["core instance"].push(coreInstance(reader, scope)));
    case 4:
      scope.component.push(componentOf(body, scope, scope.whole));
      return;
    case 5:
      return list(() => scope.instance.push(instance(reader, scope)));
    case 6:
      return list(() => alias(reader, scope));
    case 7:
      return list(() => scope.type.push(bounded(definedType(reader, scope))));
    case 8:
      return list(() => canonical(reader, scope));
    case 10:
      return list(() => {
        const { sort, item } = args(externName(reader), description(reader, scope));
        scope[sort].push(item);
      });
    case 11:
      return list(() => {
        const name = externName(reader);
        const one = sorted(reader, scope);
        if (reader.byte() === 1) description(reader, scope);
        exports.set(name, one);
        scope[one.sort].push(one.item);
      });
    default:
      throw newer(`a section of kind ${id}`);
  }
}

function externName(reader: Reader): string {
  if (reader.byte() > 1) throw newer("names of a newer format");
  return label(reader);
}

/** The name of something in an interface. */
function label(reader: Reader): string {
  const name = reader.text();
  if (name.length > NAME_CHARACTERS)
    throw new Refusal(
      `the component has a name of more than ${NAME_CHARACTERS} characters: make it shorter`,
    );
  return name;
}

function sortOf(reader: Reader): Sort {
  const byte = reader.byte();
  return byte === 0 ? coreSort(reader.byte()) : SORTS[byte]!;
}

const coreSort = (byte: number): Sort => CORE_SORTS[byte < 0x10 ? byte : byte - 12]!;

function sorted(reader: Reader, scope: Scope): Item {
  const sort = sortOf(reader);
  return { sort, item: scope[sort][reader.number()] };
}

function coreInstance(reader: Reader, scope: Scope): CoreInstance {
  if (reader.byte() === 0) {
    const module = scope["core module"][reader.number()] as Uint8Array;
    scope.whole.modules += module.length;
    if (scope.whole.modules > MODULE_BYTES || scope.whole.instances.length >= MOST_INSTANCES)
      throw new Refusal("the component is too large: build it with fewer parts");
    const args = reader.list(() => {
      const name = reader.text();
      reader.byte();
      return [name, scope["core instance"][reader.number()] as CoreInstance] as const;
    });
    const made = { module, args: new Map(args) };
    scope.whole.instances.push(made);
    return made;
  }
  const items = reader.list(() => {
    const name = reader.text();
    const sort = coreSort(reader.byte());
    return [name, scope[sort][reader.number()] as CoreItem] as const;
  });
  return { items: new Map(items) };
}

function instance(reader: Reader, scope: Scope): Instance {
  if (reader.byte() === 0) {
    const component = scope.component[reader.number()] as Component;
    const args = new Map(reader.list(() => [reader.text(), sorted(reader, scope)] as const));
    return component((name) => args.get(name)!);
  }
  return new Map(reader.list(() => [externName(reader), sorted(reader, scope)] as const));
}

function alias(reader: Reader, scope: Scope): void {
  const sort = sortOf(reader);
  const target = reader.byte();
  const index = reader.number();
  if (target === 0) {
    const name = reader.text();
    scope[sort].push((scope.instance[index] as Instance).get(name)!.item);
  } else if (target === 1) {
    scope[sort].push({ instance: scope["core instance"][index], name: reader.text() });
  } else {
    let from: Scope = scope;
    for (let up = index; up > 0; up--) from = from.outer!;
    scope[sort].push(from[sort][reader.number()]);
  }
}

function canonical(reader: Reader, scope: Scope): void {
  const kind = reader.byte();
  if (kind === 0) {
    reader.byte();
    const core = scope["core function"][reader.number()] as CoreItem;
    const options = canonicalOptions(reader, scope);
    const type = scope.type[reader.number()] as FunctionType;
    scope.function.push({ from: "component", core, type, ...options });
  } else if (kind === 1) {
    reader.byte();
    const of = scope.function[reader.number()] as ComponentFunction;
    scope["core function"].push({ call: "lower", of, ...canonicalOptions(reader, scope) });
  } else if (kind === 3) {
    const { resource } = scope.type[reader.number()] as Resource;
    scope["core function"].push({ call: "drop", ...resource });
  } else if (kind === 2 || kind === 4) {
    throw new Refusal("the component exports a resource: export functions of values");
  } else if (kind === 9) {
    const result = resultOf(reader, scope);
    const options = canonicalOptions(reader, scope);
    scope["core function"].push({ call: "task.return", result, ...options });
  } else scope["core function"].push(builtIn(kind, reader, scope));
}

type Immediate = "context" | "flag" | "memory" | "options" | "type";
type BuiltInRow = readonly [name: string, ...Immediate[]];

/** Built-ins of streams, and of futures, in the order of their opcodes. */
const COPY_BUILT_INS: readonly BuiltInRow[] = [
  ["new", "type"],
  ["read", "type", "options"],
  ["write", "type", "options"],
  ["cancel-read", "type", "flag"],
  ["cancel-write", "type", "flag"],
  ["drop-readable", "type"],
  ["drop-writable", "type"],
];

const copyBuiltIns = (kind: "stream" | "future", opcode: number): Record<number, BuiltInRow> =>
  Object.fromEntries(
    COPY_BUILT_INS.map(([name, ...immediates], index) => [
      opcode + index,
      [`${kind}.${name}`, ...immediates],
    ]),
  );

/** Built-ins of the component model by opcode, with their immediates in the order of the binary. */
const BUILT_INS: Readonly<Record<number, BuiltInRow>> = {
  0x05: ["task.cancel"],
  0x06: ["subtask.cancel", "flag"],
  0x0a: ["context.get", "context"],
  0x0b: ["context.set", "context"],
  0x0c: ["thread.yield", "flag"],
  0x0d: ["subtask.drop"],
  ...copyBuiltIns("stream", 0x0e),
  ...copyBuiltIns("future", 0x15),
  0x1f: ["waitable-set.new"],
  0x20: ["waitable-set.wait", "flag", "memory"],
  0x21: ["waitable-set.poll", "flag", "memory"],
  0x22: ["waitable-set.drop"],
  0x23: ["waitable.join"],
  0x24: ["backpressure.inc"],
  0x25: ["backpressure.dec"],
};

function builtIn(kind: number, reader: Reader, scope: Scope): BuiltIn {
  const [name, ...immediates] = BUILT_INS[kind] ?? [];
  if (name === undefined) throw threads();
  const made: BuiltIn = { call: "built-in", name };
  for (const immediate of immediates) {
    if (immediate === "flag") reader.byte();
    else if (immediate === "memory") reader.number();
    else if (immediate === "type") {
      const type = scope.type[reader.number()] as ValueType;
      if (type.kind !== "stream" && type.kind !== "future")
        throw new Error(`${name} of another type`);
      made.of = type.of;
    } else if (immediate === "options") Object.assign(made, canonicalOptions(reader, scope));
    else {
      if (reader.byte() !== I32) throw newer("a context that is not of 32 bits");
      made.context = reader.number();
      if (made.context > 1) throw new Error(`${name} of a third number`);
    }
  }
  return made;
}

const threads = () =>
  new Refusal(
    "the component uses threads or error contexts of the component model, which are not supported: rebuild it without them",
  );

/** The core type of 32-bit integers. */
const I32 = 0x7f;

const newer = (what: string) =>
  new Refusal(`the component has ${what}, which is not supported: rebuild it without that`);

function canonicalOptions(reader: Reader, scope: Scope): Options {
  const options: Options = {};
  reader.list(() => {
    const kind = reader.byte();
    const core = () => scope["core function"][reader.number()] as CoreItem;
    if (kind === 1 || kind === 2)
      throw new Refusal("the component's strings are UTF-16: build it with UTF-8");
    if (kind > 7) throw newer(`an option of kind ${kind}`);
    if (kind === 3) options.memory = scope["core memory"][reader.number()] as CoreItem;
    if (kind === 4) options.realloc = core();
    if (kind === 5) options.postReturn = core();
    if (kind === 6) options.isAsync = true;
    if (kind === 7) options.callback = core();
  });
  return options;
}

function description(reader: Reader, scope: Scope): Description {
  const byte = reader.byte();
  const sort = SORTS[byte]!;
  if (byte === 3) {
    // `eq` of a type, or a resource of its own.
    return { sort, ...(reader.byte() === 0 && { of: scope.type[reader.number()] }) };
  }
  if (byte === 0) reader.byte();
  return { sort: byte === 0 ? "core module" : sort, of: scope.type[reader.number()] };
}

/** A type by its index, or a primitive one. */
function valueType(reader: Reader, scope: Scope): ValueType {
  const byte = reader.bytes[reader.at]!;
  if (byte >= 0x40 && byte < 0x80) {
    reader.byte();
    return primitive(byte);
  }
  const found = scope.type[reader.number()] as ValueType | Resource;
  return "resource" in found ? { kind: "handle" } : found;
}

function primitive(byte: number): ValueType {
  // An error context.
  if (byte === 0x64) throw threads();
  const kind = PRIMITIVES[0x7f - byte];
  if (kind === undefined) throw newer(`a type of kind ${byte}`);
  return { kind };
}

function resultOf(reader: Reader, scope: Scope): ValueType | undefined {
  if (reader.byte() === 0) return valueType(reader, scope);
  reader.byte();
  return undefined;
}

const maybe = <T>(reader: Reader, one: () => T): T | undefined =>
  reader.byte() === 0 ? undefined : one();

function definedType(reader: Reader, scope: Scope): unknown {
  const of = () => valueType(reader, scope);
  const field = () => ({ name: label(reader), type: of() });
  const members = <T>(one: () => T): T[] => {
    const all = reader.list(one);
    if (all.length === 0) throw new Error("a type without members");
    return all;
  };
  const names = () => members(() => label(reader));
  const byte = reader.byte();
  switch (byte) {
    case 0x72:
      return { kind: "record", fields: members(field) };
    case 0x71: {
      const cases = members(() => {
        const one = { name: label(reader), type: maybe(reader, of) };
        reader.byte();
        return one;
      });
      return { kind: "variant", cases };
    }
    case 0x70:
      return { kind: "list", of: of() };
    case 0x6f:
      return { kind: "tuple", of: members(of) };
    case 0x6e:
      return { kind: "flags", names: names() };
    case 0x6d:
      return { kind: "enum", names: names() };
    case 0x6b:
      return { kind: "option", of: of() };
    case 0x6a:
      return { kind: "result", ok: maybe(reader, of), err: maybe(reader, of) };
    case 0x69:
    case 0x68:
      reader.number();
      return { kind: "handle" };
    case 0x66:
    case 0x65:
      return { kind: byte === 0x66 ? "stream" : "future", of: maybe(reader, of) };
    case 0x43:
    case 0x40: {
      const params = reader.list(field);
      return { params, result: resultOf(reader, scope) };
    }
    case 0x41:
      throw new Refusal("the component has components as values: compose it without them");
    case 0x42:
      return instanceType(reader, scope);
    case 0x3f:
      throw new Refusal("the component exports a resource: export functions of values");
    default:
      return primitive(byte);
  }
}

const typeSizes = new WeakMap<object, number>();

/** Values in one value of a type, or in the parameters and the result of a function. */
export const typeSize = (type: object): number => typeSizes.get(type) ?? 1;

/** A type of bounded size: types that are made of each other could be of any. */
function bounded<T>(type: T): T {
  if (typeof type !== "object" || type === null) return type;
  const size = Object.values(type)
    .flat()
    .reduce<number>((sum, one) => sum + memberSize(one), 1);
  if (size > TYPE_PARTS)
    throw new Refusal("the component has a type of too many parts: make it simpler");
  typeSizes.set(type, size);
  return type;
}

/** The size of a name, a type, or both. */
function memberSize(member: unknown): number {
  if (typeof member === "string") return 1 + nameSize(member);
  if (typeof member !== "object" || member === null) return 1;
  const { name = "", type = member } = member as Partial<NamedType>;
  return nameSize(name) + typeSize(type);
}

const nameSize = (name: string): number => Math.floor(name.length / PART_CHARACTERS);

/** Reads the declarations of an interface. */
function instanceType(reader: Reader, outer: Scope): InstanceType {
  const scope = newScope(outer, outer.whole);
  const exports = new Map<string, Description>();
  const own = new Map<Resource, string>();
  reader.list(() => {
    const kind = reader.byte();
    if (kind === 1) scope.type.push(bounded(definedType(reader, scope)));
    else if (kind === 2) alias(reader, scope);
    else if (kind === 4) {
      const name = externName(reader);
      const one = description(reader, scope);
      if (one.sort === "type" && one.of === undefined) {
        const resource: Resource = { resource: { module: "", name } };
        own.set(resource, name);
        one.of = resource;
      }
      exports.set(name, one);
      scope[one.sort].push(one.of);
    } else throw newer("an interface with core types");
  });
  return (module) => {
    for (const { resource } of own.keys()) resource.module ||= module;
    count(outer.whole, ITEM_BYTES * exports.size);
    return new Map(
      [...exports].map(([name, { sort, of }]) => [
        name,
        sort === "function"
          ? { sort, item: { from: "host", module, name, type: of as FunctionType } }
          : { sort, item: of },
      ]),
    );
  };
}
