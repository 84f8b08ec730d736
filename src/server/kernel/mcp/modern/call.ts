import { inputAsker } from "../../asks/askers.ts";
import { progressTextOf } from "../../calls/changes.ts";
import { aboutOf } from "../../calls/shown-arguments.ts";
import { perform, type Waiting } from "../../calls/engine.ts";
import { type TaskCall, type TaskEnd, endOf } from "../../calls/task-object.ts";
import { Fault, report } from "../../core/errors.ts";
import type { CallContext } from "../../core/call-context.ts";
import type { Recorded } from "../../core/record.ts";
import { Suspended } from "../../core/suspension.ts";
import type { Json, Notification } from "../../core/model.ts";
import type { ToolEntry } from "../../servlets/catalog.ts";
import type { Entry } from "../../servlets/registry.ts";
import type { Exchange, FoundRequest, Resumption, RunInput } from "../method.ts";
import { checkParamHeaders } from "../wire/headers.ts";
import { handingOver, linkAsker, linkIn, linkOf, needsPerson } from "../../asks/links.ts";
import { silenceGate, taskGate, taskMode } from "../wire/tasks.ts";
import { askClient, resume, resumes } from "./resume.ts";
import { createTaskResult, demandTasks, takesTasks } from "./tasks.ts";

/** The context of a call without its asker, which depends on the run. */
export type ModernCall = Omit<CallContext, "ask">;

/** Turns a call into a task; a retry of its request gets the same task. */
interface Promotions extends Pick<CallContext, "gate" | "notify"> {
  /** Continues a waiting call as a task. */
  task(changes: Partial<TaskCall>, resumption?: Resumption): Promise<Json>;
  /** Makes a finished task of a finished call. Absent if finished calls are answered with their result. */
  end?(end: TaskEnd, resumption?: Resumption): Promise<Json>;
}

/**
 * Answers a request for a call: in place, with a task, with a link, or by asking its client, whose next request resumes it.
 * `given` is what the request goes on from, once that is read.
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
  // A client does not know the headers of a tool that it calls by another.
  if (tool && params["name"] === tool.tool.name)
    checkParamHeaders(exchange.headers, tool.tool, params["arguments"]);
  const link = linkOf(exchange.pages, tool);
  const kept = taskCallOf(entry, plain, link);
  const about = () => aboutOf(entry);
  const promoter = tool && promoterOf(tool, { exchange, call: plain, kept, about });
  const handOver = tool && handingOver(kept, exchange.tasks, about);
  const isSilent = handOver !== undefined && !exchange.accepts.sse;
  const call = {
    ...plain,
    ...(isSilent && { gate: silenceGate(tool!) }),
    ...promoter,
    ...link,
    ...(asked !== undefined && { trace: { ...plain.trace, link: asked } }),
  };
  if (isTask === true && promoter) return promoter.task(runInput, resumption);
  const own = inputAsker({ ...runInput, client: call.client });
  const ask = handOver ? linkAsker(own, call.client) : own;
  const keeper = resumption && { keeper: resumption.keeper() };
  const end = promoter?.end;
  const seal = (waiting: Waiting) =>
    askClient(waiting, { request, call, ...pins, rounds: rounds + 1 }, exchange);
  const hand = async (waiting: Waiting) => {
    const { reason } = waiting;
    if (handOver === undefined) {
      // It is the task of an earlier request, whose client supports tasks.
      if (reason.kind === "task") demandTasks(call.client);
      return seal(waiting);
    }
    // A retry of a request that goes on from a state gets the same task.
    const made = await resumption?.task(exchange.tasks!.newId());
    // The record of a question ends with it, whatever earlier requests have recorded.
    const recorded =
      reason.kind === "input" ? waiting.recorded : latest(made?.recorded, waiting.recorded);
    const known = made && { id: made.id, isRetried: true };
    const task = (await handOver(Object.assign({}, waiting, { recorded }), known))!;
    // The task of an earlier request whose client supports tasks has no link.
    if (end === undefined && task["result"] !== undefined) return linkIn(task);
    return createTaskResult(task);
  };
  // A call without room to wait becomes a task, too.
  const promote = (waiting: Waiting) => {
    const { fuelUsed, recorded } = waiting;
    if (promoter === undefined) return hand(waiting);
    return promoter.task({ ...runInput, fuelUsed, ...(recorded && { recorded }) }, resumption);
  };
  if (isTask === true)
    return hand(new Suspended({ kind: "task" }, runInput.fuelUsed ?? 0, runInput));
  return await perform<Json>(
    entry,
    { ...call, ...runInput, ...keeper, ask },
    {
      ended: (result) => end?.({ result }, resumption) ?? result,
      failed: end && ((error) => end(endOf(servletFault(error)), resumption)),
      waits: {
        input: (waiting) =>
          needsPerson(waiting.reason.asks, call.client) ? hand(waiting) : seal(waiting),
        sleep: seal,
        task: promote,
        retry: promote,
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

/** The entry that a request names, in the build and with the pinned arguments that its call began with. Throws the fault of looking it up. */
async function entryFor(
  { entry, row, params }: FoundRequest,
  { registry }: Exchange,
  { recorded, pinned, resumption }: RunInput,
): Promise<Entry> {
  let all = registry;
  if (recorded !== undefined)
    all = await registry.at(recorded).catch(async (error: unknown) => {
      // An earlier request with this state has perhaps sent more, and the advice depends on that.
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

/** The record of earlier requests with the same state, if they left one, with the notices that this request has sent. */
const latest = (earlier: Recorded | undefined, own: Recorded | undefined): Recorded | undefined =>
  earlier ? { ...earlier, notices: own?.notices ?? 0 } : own;

/** The servlet's failure, which ends its call; rethrows any other error. */
function servletFault(error: unknown): Fault {
  const fault = report(error);
  if (fault.code !== "servlet_error" && fault.code !== "servlet_failed") throw fault;
  return fault;
}

/** The call as a task stores it, without its description for lists: most calls become no task. */
function taskCallOf(
  { ref }: Entry,
  { id, meta, principal, client, trace }: ModernCall,
  linked: ReturnType<typeof linkOf>,
): TaskCall {
  const call: TaskCall = { id, meta, principal, client, trace, ref };
  if (linked) call.link = linked.link;
  return call;
}

/** Undefined if the tool's calls never become tasks or its client supports none. Throws `missing_capability`. */
function promoterOf(
  tool: ToolEntry,
  {
    exchange,
    call,
    kept,
    about,
  }: { exchange: Exchange; call: ModernCall; kept: TaskCall; about: () => TaskCall["about"] },
): Promotions | undefined {
  const { tasks } = exchange;
  const mode = taskMode(tool);
  if (mode === "required") demandTasks(call.client);
  if (tasks === undefined || !takesTasks(call.client)) return undefined;
  const gate = taskGate(mode);
  if (gate === undefined) return undefined;
  let message: string | undefined;
  const create = async (
    changes: Partial<TaskCall>,
    { end, id }: { end?: TaskEnd; id?: string } = {},
  ) => {
    const made = { ...kept, about: about(), ...changes };
    // A retry of a request that goes on from a state creates the same task.
    const known = id === undefined ? {} : { id, isRetried: true };
    return createTaskResult(await tasks.create(made, end, known));
  };
  return {
    gate,
    notify(notice: Notification) {
      message = progressTextOf(notice) ?? message;
      call.notify(notice);
    },
    async task(changes, resumption) {
      const made = { ...changes, ...(message !== undefined && { message }) };
      if (resumption === undefined) return create(made);
      const { id, recorded: earlier } = await resumption.task(tasks.newId());
      const recorded = latest(earlier, changes.recorded);
      return create({ ...made, ...(recorded && { recorded }) }, { id });
    },
    ...(mode !== "auto" && {
      async end(end: TaskEnd, resumption?: Resumption) {
        const made = await resumption?.task(tasks.newId());
        return create({}, { end, ...(made && { id: made.id }) });
      },
    }),
  };
}
