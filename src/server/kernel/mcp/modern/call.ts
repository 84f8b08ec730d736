import { inputAsker } from "../../asks/askers.ts";
import { linkOf, personWay } from "../../asks/links.ts";
import { allReasons, perform, type Waiting, type Way } from "../../calls/engine.ts";
import { aboutOf } from "../../calls/shown-arguments.ts";
import { type DetailedTask, type TaskCall, endOf } from "../../calls/task-object.ts";
import type { CallContext } from "../../core/call-context.ts";
import { Fault, report } from "../../core/errors.ts";
import { isObject, type Json } from "../../core/model.ts";
import { Suspended } from "../../core/suspension.ts";
import type { Entry } from "../../servlets/registry.ts";
import type { Exchange, FoundRequest, RunInput } from "../method.ts";
import { checkParamHeaders } from "../wire/headers.ts";
import { askClient, resume, resumes } from "./resume.ts";
import { taskWay } from "./task-way.ts";
import { createTaskResult, demandTasks } from "./tasks.ts";

/** The context of a call without its asker, which depends on the run. */
export type ModernCall = Omit<CallContext, "ask">;

/**
 * Answers a request for a call: with its result, or by the first way of continuing that takes it: as a task, by a
 * person, or with the client's next request, which carries the state. `given` is the state that the request continues
 * from, once it is read.
 */
export async function answerCall(
  request: FoundRequest,
  exchange: Exchange,
  plain: ModernCall,
  given?: RunInput,
): Promise<Json> {
  const { params } = request;
  const goOn = (next: RunInput) => answerCall(request, exchange, plain, next);
  if (given === undefined && resumes(params)) return await resume(request, exchange, goOn);
  const from: RunInput = given ?? { rounds: 0 };
  const { rounds, resumption, isTask, link: asked, pinned: before, ...runInput } = from;
  const entry = await entryFor(request, exchange, from);
  const { pinned = before } = entry.ref.kind === "tool" ? entry.ref : {};
  const pins = pinned && { pinned };
  const { tool } = entry;
  if (tool) checkParamHeaders(exchange.headers, tool.tool, params);
  const { tasks, accepts } = exchange;
  const link = linkOf(exchange.pages, tool);
  const kept = taskCallOf(entry, plain, link);
  const about = () => aboutOf(entry);
  // A retry of a request that resumes a state gets the same task.
  const known = () => resumption?.task(tasks!.newId());
  const asTask =
    tool && taskWay(tool, { tasks, kept, about, known, runInput, notify: plain.notify });
  // The task of an earlier request whose client supports tasks has no link.
  const shown = (task: DetailedTask): Json =>
    asTask?.end === undefined && isObject(task["result"]) ? task["result"] : createTaskResult(task);
  const hears = accepts.sse;
  const person = tool && personWay(kept, { tasks, tool, hears, about, known, shown });
  const call = {
    ...plain,
    ...(person?.gate && { gate: person.gate }),
    ...asTask?.context,
    ...link,
    ...(asked !== undefined && { trace: { ...plain.trace, link: asked } }),
  };
  const carried: Way = {
    take(waiting) {
      // It is the task of an earlier request, whose client supports tasks.
      if (waiting.reason.kind === "task") demandTasks(call.client);
      return askClient(waiting, { request, call, ...pins, rounds: rounds + 1 }, exchange);
    },
  };
  const take = (waiting: Waiting): Promise<Json> =>
    asTask?.take(waiting) ?? person?.take(waiting) ?? carried.take(waiting)!;
  if (isTask === true)
    return await take(new Suspended({ kind: "task" }, runInput.fuelUsed ?? 0, runInput));
  const own = inputAsker({ ...runInput, client: call.client });
  const keeper = resumption && { keeper: resumption.keeper() };
  const { end } = asTask ?? {};
  return await perform<Json>(
    entry,
    { ...call, ...runInput, ...keeper, ask: person ? person.asker(own) : own },
    {
      ended: (result) => end?.({ result }) ?? result,
      failed: end && ((error) => end(endOf(servletFault(error)))),
      waits: {
        ...allReasons(take),
        earlier: ({ reason: { recorded }, fuelUsed }) =>
          goOn({
            rounds,
            ...runInput,
            ...pins,
            fuelUsed,
            recorded,
            ...(resumption && { resumption }),
          }),
      },
    },
  );
}

/**
 * The entry that a request names, in the build and with the pinned arguments of the call's beginning. Throws the fault
 * of the look-up.
 */
async function entryFor(
  { entry, row, params }: FoundRequest,
  { registry }: Exchange,
  { recorded, pinned, resumption }: RunInput,
): Promise<Entry> {
  let all = registry;
  if (recorded !== undefined)
    all = await registry.at(recorded).catch(async (error: unknown) => {
      // An earlier request with this state may have sent more, and the advice depends on that.
      const earlier = await resumption?.earlier();
      if (earlier?.kind === "earlier") await registry.at(earlier.recorded);
      throw error;
    });
  const isTool = !(entry instanceof Fault) && entry?.ref.kind === "tool";
  if (all !== registry || (isTool && pinned !== undefined)) {
    const ref = row.ref!(params);
    return all.resolve(ref.kind === "tool" && pinned !== undefined ? { ...ref, pinned } : ref);
  }
  if (entry instanceof Fault) throw entry;
  return entry!;
}

/** The servlet's failure, which ends its call; rethrows any other error. */
function servletFault(error: unknown): Fault {
  const fault = report(error);
  if (fault.code !== "servlet_error" && fault.code !== "servlet_failed") throw fault;
  return fault;
}

/** The call as a task stores it, without its description for lists: most calls never become a task. */
function taskCallOf(
  { ref }: Entry,
  { id, meta, principal, client, trace }: ModernCall,
  linked: ReturnType<typeof linkOf>,
): TaskCall {
  const call: TaskCall = { id, meta, principal, client, trace, ref };
  if (linked) call.link = linked.link;
  return call;
}
