/** Host functions with which servlets make, list and cancel schedules of their caller. */
import * as z from "zod/mini";
import { callerKey } from "../../kernel/core/callers.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { once } from "../../kernel/core/once.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { stringBytes } from "../../kernel/core/text.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { FeatureFunction } from "../../kernel/servlets/deployment.ts";
import { limits } from "./limits.ts";
import type { ShownSchedule, StoredSchedule } from "./schedule.ts";
import { scheduledRef, type Schedules } from "./schedules.ts";
import { firstDue, type Timing } from "./times.ts";

const idSchema = z
  .string()
  .check(z.regex(/^[\w.-]{1,64}$/, "must be letters, digits, _, . and -, at most 64"));

const newSchema = once(() =>
  z.strictObject({
    id: idSchema,
    tool: z.string(),
    arguments: z.optional(z.record(z.string(), z.unknown())),
    at: z.optional(z.string().check(z.maxLength(40))),
    every: z.optional(z.number()),
    cron: z.optional(z.string().check(z.maxLength(200))),
    timeZone: z.optional(z.string().check(z.maxLength(100))),
  }),
);
const cancelSchema = once(() => z.strictObject({ id: idSchema }));

/** Gets the schedules of a caller, or of a servlet, by its key. */
export type SchedulesOf = (
  caller: string,
) => Pick<
  Schedules,
  "cancel" | "declare" | "forgetAll" | "list" | "pause" | "put" | "resume" | "runNow"
>;

type Server = Pick<Kernel, "registry" | "countStored" | "settings">;

export function scheduleFunctions(
  of: SchedulesOf,
  server: Server,
): Record<string, FeatureFunction> {
  return {
    async "schedules.add"(payload, { servlet: { name: servlet }, call }) {
      const { id, tool, arguments: input, ...rule } = read(newSchema(), payload);
      const key = ownerOf(call);
      const timing = timingOf(rule);
      const now = Date.now();
      const schedule: StoredSchedule = {
        id,
        servlet,
        timing,
        tool,
        ...(input && { arguments: input }),
        isDeclared: false,
        principal: call.principal,
        made: now,
        origin: call.link?.origin ?? server.settings.PUBLIC_URL,
      };
      const bytes = stringBytes(JSON.stringify(schedule));
      if (bytes > limits.scheduleBytes)
        throw bad(`it has ${bytes} bytes with its arguments (limit ${limits.scheduleBytes}).`);
      firstDue(timing, now);
      const registry = (await server.registry()).for({ principal: call.principal });
      const { misfit } = await registry.resolve(await scheduledRef(schedule, undefined, registry));
      if (misfit !== undefined) throw bad(misfit);
      await server.countStored(key, bytes);
      return forGuest(unsettled(await of(key).put(schedule)));
    },
    async "schedules.list"(_payload, { servlet: { name: servlet }, call }) {
      const all = await of(ownerOf(call)).list(servlet);
      return all.filter(({ isDeclared }) => !isDeclared).map(forGuest);
    },
    async "schedules.cancel"(payload, { servlet: { name: servlet }, call }) {
      return of(ownerOf(call)).cancel(servlet, read(cancelSchema(), payload).id);
    },
  };
}

/** A schedule as its servlet sees it; times are Unix times in ms. */
const forGuest = ({
  id,
  tool,
  arguments: input = {},
  timing,
  next,
  paused,
  runs,
}: ShownSchedule) => ({
  id,
  tool,
  arguments: input,
  ...timing,
  next: next ?? null,
  last: runs.find(({ task }) => task !== undefined)?.at ?? null,
  ...(paused !== undefined && { paused }),
});

function timingOf({
  at,
  every,
  cron,
  timeZone,
}: Omit<z.infer<ReturnType<typeof newSchema>>, "id" | "tool" | "arguments">): Timing {
  const zone = timeZone === undefined ? {} : { timeZone };
  const given = [
    ...(at === undefined ? [] : [{ at, ...zone }]),
    ...(every === undefined ? [] : [{ every }]),
    ...(cron === undefined ? [] : [{ cron, ...zone }]),
  ];
  const [timing] = given;
  if (timing === undefined || given.length > 1) throw bad("it needs one of at, every and cron.");
  return timing;
}

/** The key of the call's caller, to whom the schedules belong. */
function ownerOf({ principal }: { principal: Parameters<typeof callerKey>[0] }): string {
  const key = callerKey(principal);
  if (key === undefined)
    throw new Fault(
      "invalid_params",
      "Schedules belong to a caller, and this one is not known. Sign in first.",
    );
  return key;
}

function read<T>(schema: z.ZodMiniType<T>, payload: unknown): T {
  const found = schema.safeParse(payload);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw bad(`${issue!.path.join(".")} ${issue!.message}.`);
}

const bad = (why: string): Fault =>
  new Fault("invalid_params", `The schedule was not made: ${why}`);
