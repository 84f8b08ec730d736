import { isObject, type Json } from "../core/model.ts";
import { asChoice, requires, whereMembers } from "./assertions.ts";
import { discriminatorOf, type Discriminator } from "./discriminator.ts";
import {
  countOperand,
  evaluators,
  every,
  everyFrom,
  list,
  namedEvaluators,
  objectOperand,
  textOperand,
} from "./keyword.ts";
import type { Keyword, KeywordContext, Maker } from "./keyword.ts";
import { brief, type Evaluate, type Run } from "./run.ts";
import type { Steps } from "./steps.ts";
import { memberNames } from "./values.ts";

/** Checks the items from an index on. */
const itemsFrom =
  (first: number, evaluate: Evaluate): Keyword =>
  (value, run) => {
    if (!Array.isArray(value)) return true;
    return everyFrom(first, value.length, run, (at) => run.evaluate(at, evaluate, value[at]));
  };

/** Checks each item against the schema in its place. */
const itemsBy =
  (all: readonly Evaluate[]): Keyword =>
  (value, run) => {
    if (!Array.isArray(value)) return true;
    const end = Math.min(all.length, value.length);
    return everyFrom(0, end, run, (at) => run.evaluate(at, all[at]!, value[at]));
  };

/** Checks the members or items that no other keyword of the schema has evaluated. */
const unevaluated =
  (parts: (value: unknown, steps: Steps) => readonly (string | number)[] | undefined): Maker =>
  (operand, { name, evaluator }) => {
    const evaluate = evaluator(operand, name);
    return (value, run, start) => {
      const keys = parts(value, run.steps);
      if (keys === undefined) return true;
      run.steps.take(run.marks.length - start);
      const evaluated = new Set(run.marks.slice(start));
      return every(keys, run, (key) => {
        run.steps.take(1);
        if (evaluated.has(key)) return true;
        return run.evaluate(key, evaluate, (value as Json)[key]);
      });
    };
  };

/**
 * Returns a function that selects the schemas of a union to check a value against. Without a discriminator these are
 * all schemas. If the discriminating member is wrong or missing, the function reports that and returns undefined.
 */
function choiceOf(operand: unknown, context: KeywordContext) {
  const all = evaluators(operand, context);
  let found: Discriminator | undefined | "unread" = "unread";
  return (value: unknown, run: Run): readonly Evaluate[] | undefined => {
    if (!isObject(value)) return all;
    // References can be resolved only after all schemas are compiled, so not before the first value.
    if (found === "unread") found = discriminatorOf(operand as unknown[], context);
    if (found === undefined) return all;
    const { member, isRequired, choices } = found;
    const isThere = Object.hasOwn(value, member);
    if (!isThere && !isRequired) return all;
    run.steps.take(1);
    const selected = isThere ? choices.get(value[member]) : undefined;
    if (selected !== undefined) return selected.map((at) => all[at]!);
    run.fail(isThere ? `must be ${asChoice([...choices.keys()])}` : "is required", member);
    return undefined;
  };
}

/**
 * The keywords that contain schemas.
 * https://json-schema.org/draft/2020-12/json-schema-core#section-10
 */
export const APPLICATORS: Readonly<Record<string, Maker>> = {
  contains(operand, context) {
    const { schema } = context;
    const evaluate = context.evaluator(operand, context.name);
    const least = "minContains" in schema ? countOperand(schema["minContains"], context) : 1;
    const most = "maxContains" in schema ? countOperand(schema["maxContains"], context) : Infinity;
    return (value, run) => {
      if (!Array.isArray(value)) return true;
      const fitting = run.quietly(() =>
        value.filter((item, at) => {
          const fits = run.at(at, evaluate, item);
          if (fits && run.isMarking) run.marks.push(at);
          return fits;
        }),
      ).length;
      if (fitting < least)
        return run.fail(`must have at least ${least} items that fit \`contains\``);
      return fitting <= most || run.fail(`must have at most ${most} items that fit \`contains\``);
    };
  },

  dependentSchemas: (_operand, context) =>
    whereMembers(namedEvaluators("dependentSchemas", context)),
  dependencies: (operand, context) =>
    whereMembers(
      Object.entries(objectOperand(operand, context)).map(([key, one]) => [
        key,
        Array.isArray(one)
          ? requires(one, context, key)
          : context.evaluator(one, "dependencies", key),
      ]),
    ),
  properties(_operand, context) {
    const known = namedEvaluators("properties", context);
    return (value, run) => {
      if (!isObject(value)) return true;
      run.steps.take(known.length);
      return every(known, run, ([name, evaluate]) => {
        if (!Object.hasOwn(value, name)) return true;
        return run.evaluate(name, evaluate, value[name]);
      });
    };
  },
  patternProperties(_operand, context) {
    const all = namedEvaluators("patternProperties", context).map(
      ([source, evaluate]) => [context.pattern(source), evaluate] as const,
    );
    return (value, run) => {
      if (!isObject(value)) return true;
      return every(memberNames(value, run.steps), run, (name) =>
        every(all, run, ([pattern, evaluate]) => {
          if (!pattern.test(name, run.steps)) return true;
          return run.evaluate(name, evaluate, value[name]);
        }),
      );
    };
  },
  additionalProperties(operand, context) {
    const { properties = {}, patternProperties = {} } = context.schema;
    const known = new Set(Object.keys(objectOperand(properties, context)));
    const patterns = Object.keys(objectOperand(patternProperties, context)).map(context.pattern);
    const evaluate = context.evaluator(operand, context.name);
    const expected = brief(list([...known].map((name) => `\`${name}\``)) || "no others");
    return (value, run) => {
      if (!isObject(value)) return true;
      return every(memberNames(value, run.steps), run, (name) => {
        run.steps.take(1);
        if (known.has(name)) return true;
        if (patterns.some((pattern) => pattern.test(name, run.steps))) return true;
        if (operand === false) return run.fail(`is not expected; expected: ${expected}`, name);
        return run.evaluate(name, evaluate, value[name]);
      });
    };
  },
  propertyNames(operand, { name, evaluator }) {
    const evaluate = evaluator(operand, name);
    return (value, run) => {
      if (!isObject(value)) return true;
      return every(memberNames(value, run.steps), run, (key) => {
        const fits = run.quietly(() => run.at(key, evaluate, key));
        return fits || run.fail("has a name that does not fit `propertyNames`", key);
      });
    };
  },

  prefixItems: (operand, context) => itemsBy(evaluators(operand, context)),
  items(operand, context) {
    // A list is draft 7's `prefixItems`.
    if (Array.isArray(operand)) return itemsBy(evaluators(operand, context));
    const { prefixItems } = context.schema;
    return itemsFrom(
      Array.isArray(prefixItems) ? prefixItems.length : 0,
      context.evaluator(operand, context.name),
    );
  },
  additionalItems(operand, { name, schema, evaluator }) {
    const { items: before } = schema;
    return Array.isArray(before) ? itemsFrom(before.length, evaluator(operand, name)) : undefined;
  },

  $ref: (operand, context) => context.target(textOperand(operand, context)).evaluate,
  $dynamicRef(operand, context) {
    const { evaluate, resource, anchor } = context.target(textOperand(operand, context));
    if (anchor === undefined || !resource.dynamicAnchors.has(anchor)) return evaluate;
    const dynamic = context.dynamic(anchor);
    return (value, run) => {
      run.steps.take(run.scope.length);
      const outermost = run.scope.find((one) => dynamic.has(one));
      return (outermost === undefined ? evaluate : dynamic.get(outermost)!)(value, run);
    };
  },
  allOf(operand, context) {
    const all = evaluators(operand, context);
    return (value, run) => every(all, run, (evaluate) => evaluate(value, run));
  },
  anyOf(operand, context) {
    const select = choiceOf(operand, context);
    return (value, run) => {
      const before = run.issues.length;
      let fits = false;
      const all = select(value, run);
      if (all === undefined) return false;
      for (const evaluate of all) {
        if (!evaluate(value, run)) continue;
        fits = true;
        if (!run.isMarking) break; // Others may evaluate more.
      }
      if (!fits && all.length === 1) return false;
      if (!fits) return run.fail("must match at least one of the schemas in `anyOf`");
      run.issues.length = before;
      return true;
    };
  },
  oneOf(operand, context) {
    const select = choiceOf(operand, context);
    return (value, run) => {
      const before = run.issues.length;
      const all = select(value, run);
      if (all === undefined) return false;
      const fitting = all.filter((evaluate) => evaluate(value, run)).length;
      if (fitting > 0) run.issues.length = before;
      if (fitting === 1) return true;
      // The issues of the only selected schema have been reported already.
      if (fitting === 0 && all.length === 1) return false;
      const but = fitting === 0 ? "" : `, but matches ${fitting} of them`;
      return run.fail(`must match exactly one of the schemas in \`oneOf\`${but}`);
    };
  },
  not(operand, { name, evaluator }) {
    const evaluate = evaluator(operand, name);
    return (value, run) => {
      const { length } = run.marks;
      const fits = run.quietly(() => evaluate(value, run));
      run.marks.length = length;
      return !fits || run.fail("must not match the schema in `not`");
    };
  },
  if(operand, { name, schema, evaluator }) {
    const evaluate = evaluator(operand, name);
    const branch = (key: string) => (key in schema ? evaluator(schema[key], key) : undefined);
    const [then, otherwise] = [branch("then"), branch("else")];
    return (value, run) => {
      const chosen = run.quietly(() => evaluate(value, run)) ? then : otherwise;
      return chosen === undefined || chosen(value, run);
    };
  },

  // Must come last: depends on what the other keywords have evaluated.
  unevaluatedItems: unevaluated((value) => (Array.isArray(value) ? [...value.keys()] : undefined)),
  unevaluatedProperties: unevaluated((value, steps) =>
    isObject(value) ? memberNames(value, steps) : undefined,
  ),
};
