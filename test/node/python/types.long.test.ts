import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";

/** Type hints as input schemas, and the values that functions get. */
let servlet: ServletUnderTest;
let schemas: Map<string, Record<string, unknown>>;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/types");
  const { tools } = await servlet.list();
  schemas = new Map(tools.map(({ name, inputSchema }) => [name, inputSchema]));
});

const object = (properties: object, required: string[] = Object.keys(properties)) => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});
/** The schema of a tool's arguments: others are ignored. */
const argumentsOf = (properties: object, required?: string[]) => {
  const { additionalProperties: _, ...schema } = object(properties, required);
  return schema;
};
const nullable = (schema: object) => ({ anyOf: [schema, { type: "null" }] });
const [string, integer, number] = [{ type: "string" }, { type: "integer" }, { type: "number" }];
const integers = { type: "object", additionalProperties: integer };
const rights = { type: "integer", minimum: 0, maximum: 7 };
const list = { type: "array", items: integer };
const movie = { type: "object", properties: { name: string, year: integer }, required: ["name"] };
const order = object(
  {
    size: { type: "string", enum: ["small", "large"] },
    count: { type: "integer", minimum: 1, default: 1 },
    tags: { type: "array", items: string },
  },
  ["size"],
);

/** By the hint's name in the servlet: its schema, and values with what the function is given, as `repr` writes it. */
const HINTS: [hint: string, schema: object, ...values: [given: unknown, got: string][]][] = [
  ["str", string, ["é", "'é'"]],
  ["int", integer, [2, "2"], [2.0, "2"]],
  ["float", number, [2, "2.0"], [2.5, "2.5"]],
  ["bool", { type: "boolean" }, [true, "True"]],
  ["none", { type: "null" }, [null, "None"]],
  ["any", {}, [{ a: [1, null] }, "{'a': [1, None]}"]],
  ["optional", nullable(string), [null, "None"], ["a", "'a'"]],
  ["union", { anyOf: [integer, string] }, [1, "1"], ["a", "'a'"]],
  ["mixed", { anyOf: [number, integer] }, [5, "5"], [5.5, "5.5"]],
  ["literal", { enum: ["a", 1, null] }, ["a", "'a'"], [1, "1"], [null, "None"]],
  ["enum", { type: "string", enum: ["red", "blue"] }, ["red", "<Colour.RED: 'red'>"]],
  ["int_enum", { type: "integer", enum: [1, 2] }, [2, "<Level.HIGH: 2>"]],
  [
    "list",
    { type: "array", items: { type: "array", items: integer } },
    [[[1], [2, 3]], "[[1], [2, 3]]"],
  ],
  ["bare_list", { type: "array", items: {} }, [[1, "a"], "[1, 'a']"]],
  ["dict", { type: "object", additionalProperties: integer }, [{ a: 1 }, "{'a': 1}"]],
  ["int_keys", { type: "object", additionalProperties: number }, [{ 1: 2 }, "{1: 2.0}"]],
  [
    "enum_keys",
    {
      type: "object",
      additionalProperties: string,
      propertyNames: { type: "string", enum: ["red", "blue"] },
    },
    [{ red: "a" }, "{<Colour.RED: 'red'>: 'a'}"],
  ],
  ["set", { type: "array", items: string, uniqueItems: true }, [["a"], "{'a'}"]],
  [
    "tuple",
    { type: "array", prefixItems: [integer, string], items: {}, minItems: 2, maxItems: 2 },
    [[1, "a"], "(1, 'a')"],
  ],
  ["tuples", { type: "array", items: integer }, [[1, 2, 3], "(1, 2, 3)"]],
  [
    "named_tuple",
    {
      type: "array",
      prefixItems: [
        { title: "x", type: "number" },
        { title: "y", type: "number" },
      ],
      items: number,
      minItems: 1,
      maxItems: 2,
    },
    [[1], "Point(x=1.0, y=0)"],
    [[1, 2], "Point(x=1.0, y=2.0)"],
  ],
  ["typed_dict", movie, [{ name: "Dune", more: 1 }, "{'name': 'Dune', 'more': 1}"]],
  [
    "inherited",
    { ...movie, properties: { ...movie.properties, stars: integer } },
    [{ name: "Dune", stars: 5 }, "{'name': 'Dune', 'stars': 5}"],
  ],
  ["foreign", movie, [{ name: "Dune" }, "{'name': 'Dune'}"]],
  [
    "dataclass",
    order,
    [{ size: "small" }, "Order(size='small', count=1, tags=[])"],
    [{ size: "large", count: 2, tags: ["a"] }, "Order(size='large', count=2, tags=['a'])"],
  ],
  [
    "recursive",
    { $ref: "#/$defs/Node" },
    [
      { name: "a", children: [{ name: "b" }] },
      "Node(name='a', children=[Node(name='b', children=[])])",
    ],
  ],
  [
    "generic",
    { $ref: "#/$defs/Page" },
    [{ items: [1], next: { items: [2] } }, "Page(items=[1], next=Page(items=[2], next=None))"],
  ],
  [
    "tagged",
    {
      anyOf: [
        object({ kind: { type: "string", enum: ["cat"] }, lives: integer }),
        object({
          kind: { type: "string", enum: ["dog"] },
          tricks: { type: "array", items: string },
        }),
      ],
    },
    [{ kind: "cat", lives: 9 }, "Cat(kind='cat', lives=9)"],
    [{ kind: "dog", tricks: ["sit"] }, "Dog(kind='dog', tricks=['sit'])"],
  ],
  ["checked", object({ number: integer }), [{ number: 1 }, "Positive(number=1)"]],
  ["new_type", integer, [7, "7"]],
  ["alias", { $ref: "#/$defs/Json" }, [{ a: [1, "b", null] }, "{'a': [1, 'b', None]}"]],
  [
    "generic_alias",
    { type: "array", prefixItems: [integer, integer], items: integer, minItems: 2, maxItems: 2 },
    [[1, 2], "(1, 2)"],
  ],
  [
    "datetime",
    { type: "string", format: "date-time" },
    [
      "2026-01-02T03:04:05Z",
      "datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)",
    ],
  ],
  ["date", { type: "string", format: "date" }, ["2026-01-02", "datetime.date(2026, 1, 2)"]],
  [
    "time",
    { type: "string", examples: ["10:00:00"] },
    ["03:04:05", "datetime.time(3, 4, 5)"],
    ["03:04", "datetime.time(3, 4)"],
  ],
  [
    "timedelta",
    { type: "string", format: "duration" },
    ["P1DT1M", "datetime.timedelta(days=1, seconds=60)"],
    ["P2W", "datetime.timedelta(days=14)"],
  ],
  ["decimal", { type: ["number", "string"] }, [1.1, "Decimal('1.1')"], ["2.50", "Decimal('2.50')"]],
  [
    "uuid",
    { type: "string", format: "uuid" },
    ["00000000-0000-0000-0000-000000000001", "UUID('00000000-0000-0000-0000-000000000001')"],
  ],
  ["path", { type: "string", format: "path" }, ["/a/b", "PosixPath('/a/b')"]],
  ["bytes", { type: "string", contentEncoding: "base64" }, ["aGk=", "b'hi'"]],
  ["described", { type: "string", description: "A text" }],
  [
    "limited",
    {
      type: "integer",
      minimum: 1,
      exclusiveMaximum: 10,
      multipleOf: 2,
      title: "N",
      examples: [4],
    },
    [4, "4"],
  ],
  ["lengths", { type: "array", items: integer, minItems: 1, maxItems: 2 }, [[1], "[1]"]],
  ["pattern", { type: "string", pattern: "^a", minLength: 2 }, ["ab", "'ab'"]],
  ["any_set", { type: "array", items: {}, uniqueItems: true }, [[1], "{1}"]],
  ["tenths", { type: ["number", "string"], multipleOf: 0.1 }, ["0.3", "Decimal('0.3')"]],
  [
    "int_flag",
    { ...rights, description: "A sum of 4 (R), 2 (W), 1 (X)" },
    [6, "<Rights.R|W: 6>"],
    [0, "<Rights: 0>"],
    [7, "<Rights.ALL: 7>"],
  ],
  [
    "flag",
    { ...rights, maximum: 5, description: "A sum of 1 (LEFT), 4 (RIGHT)" },
    [5, "<Sides.LEFT|RIGHT: 5>"],
  ],
  ["described_flag", { ...rights, description: "Who" }],
  [
    "init_var",
    object(
      {
        name: string,
        width: { type: "integer", minimum: 1 },
        factor: { type: "integer", minimum: 1 },
        offset: { type: "integer", default: 5 },
      },
      ["name", "width", "factor"],
    ),
    [{ name: "a", width: 2, factor: 3 }, "Scaled(name='a', made='made', width=2, area=11)"],
  ],
  [
    "kw_only",
    object({ text: { ...string, default: "a" }, mark: string }, ["mark"]),
    [{ mark: "b" }, "Marked(text='a', mark='b')"],
  ],
  [
    "derived",
    object(
      {
        text: { ...string, default: "b" },
        mark: string,
        when: { ...nullable({ ...string, format: "date" }), default: null },
      },
      ["mark"],
    ),
    [{ mark: "m", when: "2026-01-02" }, "Late(text='b', mark='m', when=datetime.date(2026, 1, 2))"],
  ],
  ["counter", integers, [{ a: 2 }, "Counter({'a': 2})"]],
  ["bare_counter", integers, [{ a: 2 }, "Counter({'a': 2})"]],
  ["ordered", integers, [{ b: 1, a: 2 }, "OrderedDict({'b': 1, 'a': 2})"]],
  [
    "defaults_to_list",
    { type: "object", additionalProperties: { type: "array", items: integer } },
    [{ a: [1] }, "defaultdict(<class 'list'>, {'a': [1]})"],
  ],
  [
    "defaults_to_date",
    { type: "object", additionalProperties: { type: "string", format: "date" } },
    [{ a: "2026-01-02" }, "defaultdict(None, {'a': datetime.date(2026, 1, 2)})"],
  ],
  ["bare_defaults", { type: "object" }, [{ a: 1 }, "defaultdict(None, {'a': 1})"]],
  ["chain", integers, [{ a: 1 }, "ChainMap({'a': 1})"]],
  ["old_chain", integers, [{ a: 1 }, "ChainMap({'a': 1})"]],
  ["mapping", integers, [{ a: 1 }, "{'a': 1}"]],
  ["bare_mapping", { type: "object" }, [{ a: "b" }, "{'a': 'b'}"]],
  ["mutable", integers, [{ a: 1 }, "{'a': 1}"]],
  ["proxy", integers, [{ a: 1 }, "mappingproxy({'a': 1})"]],
  ["user_dict", integers, [{ a: 1 }, "{'a': 1}"]],
  ["registry", integers, [{ a: 1 }, "{'a': 1}"]],
  ["tags", { type: "array", items: string }, [["a"], "['a']"]],
  ["frozen", { ...list, uniqueItems: true }, [[1], "frozenset({1})"]],
  ["bare_frozen", { type: "array", items: {}, uniqueItems: true }, [["a"], "frozenset({'a'})"]],
  ["deque", list, [[1, 2], "deque([1, 2])"]],
  ["old_deque", list, [[1, 2], "deque([1, 2])"]],
  ["bare_deque", { type: "array", items: {} }, [["a"], "deque(['a'])"]],
  ["sequence", list, [[1], "[1]"]],
  ["bare_sequence", { type: "array", items: {} }, [["a"], "['a']"]],
  ["iterable", list, [[1], "[1]"]],
  ["collection", list, [[1], "[1]"]],
  ["abstract_set", { ...list, uniqueItems: true }, [[1], "{1}"]],
  ["mutable_set", { ...list, uniqueItems: true }, [[1], "{1}"]],
  ["user_list", list, [[1], "[1]"]],
  [
    "hundredths",
    { type: ["number", "string"], multipleOf: 0.01 },
    ...["0.07", "4.35", "19.99", "-1.1", "123456789.01"].map((one): [string, string] => [
      one,
      `Decimal('${one}')`,
    ]),
  ],
  ["price", { ...number, multipleOf: 0.01 }, [0.07, "0.07"], [4.35, "4.35"], [19.99, "19.99"]],
  ["decimal_steps", { type: ["number", "string"] }, ["4.35", "Decimal('4.35')"]],
  ["large_steps", { type: "integer", multipleOf: 3 }, [9007199254740990, "9007199254740990"]],
  ["extra", { type: "string", format: "email" }],
  [
    "forward",
    object({ when: { type: "string", format: "date" } }),
    [{ when: "2026-01-02" }, "Later(when=datetime.date(2026, 1, 2))"],
  ],
];

describe("a type hint has its schema", () => {
  test.each(HINTS)("%s", (hint, schema) => {
    const { $defs: _, ...rest } = schemas.get(`take_${hint}`)!;
    expect(rest).toEqual(argumentsOf({ value: schema }));
  });

  test("what is recursive is a definition", () => {
    const children = { type: "array", items: { $ref: "#/$defs/Node" } };
    expect(schemas.get("take_recursive")!["$defs"]).toEqual({
      Node: object({ name: string, children }, ["name"]),
    });
  });
});

describe("a function gets a value of its type", () => {
  const cases = HINTS.flatMap(([hint, , ...values]) =>
    values.map(([given, got]) => [hint, given, got] as const),
  );
  test.each(cases)("%s: %j is %s", async (hint, value, got) => {
    const { result } = await servlet.callTool(`take_${hint}`, { value });
    expect(result.content).toEqual([{ type: "text", text: got }]);
  });
});

/** Arguments that the schema allows, and the type does not. */
describe("what a type refuses is an error that names the place", () => {
  test.each<[hint: string, given: unknown, said: string]>([
    ["checked", { number: 0 }, "value: the number must be positive"],
    ["time", "noon", 'value: a time such as 10:00:00 is expected, not "noon"'],
    ["decimal", "much", 'value: a decimal number is expected, not "much"'],
    ["decimal", "NaN", 'value: a decimal number is expected, not "NaN"'],
    ["tenths", "0.15", 'value: a multiple of 0.1 is expected, not "0.15"'],
    ["flag", 2, "value: a sum of 1 (LEFT), 4 (RIGHT) is expected, not 2"],
    ["hundredths", "0.075", 'value: a multiple of 0.01 is expected, not "0.075"'],
    ["hundredths", "123456789.015", 'value: a multiple of 0.01 is expected, not "123456789.015"'],
    ["decimal_steps", "0.075", 'value: a multiple of 0.01 is expected, not "0.075"'],
    ["tenths", "1e400", 'value: a multiple of 0.1 is expected, not "1e400"'],
    [
      "timedelta",
      "P99999999999D",
      'value: a duration such as PT1H30M is expected, not "P99999999999D"',
    ],
    ["any_set", [[1]], "value: an array of what can be in a set is expected, not [[1]]"],
    ["bytes", "?", 'value: base64 is expected, not "?"'],
    ["int_keys", { a: 1 }, 'value.a: an integer is expected, not "a"'],
  ])("%s: %j", async (hint, value, said) => {
    const { result, logs } = await servlet.callTool(`take_${hint}`, { value });
    const text = `The arguments of "take_${hint}" are not valid: ${said}.`;
    expect(result).toEqual({ content: [{ type: "text", text }], isError: true });
    expect(logs).toEqual([]);
  });
});

test("defaults are in the schema, and where an argument is missing", async () => {
  expect(schemas.get("defaults")).toEqual(
    argumentsOf(
      {
        a: integer,
        b: { ...integer, default: 2 },
        c: { ...nullable(string), default: null },
        d: { ...order, default: { size: "small", count: 1, tags: [] } },
        e: { type: "integer", maximum: 9, default: 5 },
        f: { type: "number", description: "Needed" },
        g: { type: "integer", minimum: 1, default: 7 },
        h: { type: "array", items: integer, maxItems: 3 },
      },
      ["a", "f"],
    ),
  );
  const { result } = await servlet.callTool("defaults", { a: 1, f: 2 });
  expect(result.content).toEqual([{ type: "text", text: "1 2 None small 5 2.0 7 [7] [1]" }]);
});

test("flags as a default and as a result are numbers", async () => {
  expect(schemas.get("allows")!["properties"]).toMatchObject({ rights: { default: 6 } });
  const { result } = await servlet.callTool("allows", {});
  expect(result.structuredContent).toEqual({ rights: 6 });
});

test("a result has the fields of a dataclass, and not what it is made of", async () => {
  const { tools } = await servlet.list();
  const { outputSchema } = tools.find(({ name }) => name === "scales")!;
  expect(Object.keys(outputSchema!["properties"] as object)).toEqual([
    "name",
    "made",
    "width",
    "area",
  ]);
  const scaled = { name: "a", width: 2, factor: 3, offset: 1 };
  const { result } = await servlet.callTool("scales", { scaled });
  expect(result.structuredContent).toEqual({ name: "a", made: "made", width: 2, area: 7 });
});
