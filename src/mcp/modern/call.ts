import { type TaskCall, type TaskEnd, endOf } from "../../durable/task-object.ts";
import { Fault, report } from "../../errors.ts";
import type { CallContext } from "../../call-context.ts";
import type { Json, Notification } from "../../model.ts";
import type { Recorded } from "../../record.ts";
import { Suspended } from "../../suspension.ts";
import type { ToolEntry } from "../../servlets/catalog.ts";
import type { FoundRequest, Target } from "../method.ts";
import type { Resumption } from "../../durable/resumption.ts";
import type { Exchange } from "../wire/exchange.ts";
import { checkParamHeaders } from "../wire/headers.ts";
import { handingOver, linkAsker, linkIn, linkOf, needsPerson } from "../wire/links.ts";
import type { Request } from "../wire/message.ts";
import { progressOf, silenceGate, taskGate, taskMode } from "../wire/tasks.ts";
import {
  inputAsker,
  inputRequired,
  resume,
  resumes,
  stateOf,
  type RunInput,
} from "./input-required.ts";
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

/** Runs the target of a request, in place or as a task, or resumes a call that asked for input. */
export async function runTarget(
  request: FoundRequest,
  exchange: Exchange,
  plain: ModernCall,
): Promise<Json> {
  const { params } = request;
  const goOn = async (given: RunInput): Promise<Json> => {
    const { rounds, resumption, isTask, link: asked, ...runInput } = given;
    const target = await targetFor(request, exchange, runInput.recorded);
    const { tool, subject } = target;
    if (tool) checkParamHeaders(exchange.headers, tool.tool, params["arguments"]);
    const promoter = tool && promoterOf(tool, request, exchange, plain);
    const handOver =
      tool && handingOver(taskCallOf(tool, request, exchange, plain), exchange.tasks);
    const link = linkOf(exchange.pages, tool);
    const isSilent = handOver !== undefined && !exchange.accepts.sse;
    const call = {
      ...plain,
      ...(isSilent && { gate: silenceGate(tool!) }),
      ...promoter,
      ...link,
      ...(subject !== undefined && { subject }),
      ...(asked !== undefined && { trace: { ...plain.trace, link: asked } }),
    };
    if (isTask === true && promoter) return promoter.task(runInput, resumption);
    const own = inputAsker({ ...runInput, client: call.client });
    const ask = handOver ? linkAsker(own, call.client) : own;
    const running = target.run({
      ...call,
      ...runInput,
      ask,
      ...(resumption && { keeper: resumption }),
    });
    const outcome = await (promoter?.end ? running.catch(servletFault) : running);
    if (outcome instanceof Fault) return promoter!.end!(endOf(outcome), resumption);
    if (!(outcome instanceof Suspended)) {
      return promoter?.end ? promoter.end({ result: outcome }, resumption) : outcome;
    }
    const { recorded, reason, fuelUsed } = outcome;
    if (reason.kind === "earlier") {
      const { recorded: earlier } = reason;
      return goOn({
        rounds,
        ...runInput,
        fuelUsed,
        recorded: earlier,
        ...(resumption && { resumption }),
      });
    }
    // A call without room to wait becomes a task, too.
    if ((reason.kind === "task" || reason.kind === "retry") && promoter) {
      return promoter.task({ ...runInput, fuelUsed, ...(recorded && { recorded }) }, resumption);
    }
    if (handOver && (reason.kind !== "input" || needsPerson(reason.asks, call.client))) {
      // A retry of a request that goes on from a state gets the same task.
      const made = await resumption?.task(exchange.tasks!.newId());
      const task = await handOver(outcome, made && { id: made.id, isRetried: true });
      return promoter?.end ? createTaskResult(task!) : linkIn(task!);
    }
    const state = stateOf(outcome, request, call);
    return inputRequired(request, exchange, { ...state, rounds: rounds + 1 });
  };
  return await (resumes(params) ? resume(request, exchange, goOn) : goOn({ rounds: 0 }));
}

/** The target of a request, in the build that its call began with. Throws the fault of looking it up. */
async function targetFor(
  { target, row, params }: FoundRequest,
  { registry }: Exchange,
  recorded: Recorded | undefined,
): Promise<Target> {
  const all = recorded === undefined ? registry : await registry.at(recorded.head.hash);
  const found = all === registry ? target! : await row.find!(params, all);
  if (found instanceof Fault) throw found;
  return found;
}

/** The servlet's failure, which ends its call; rethrows any other error. */
function servletFault(error: unknown): Fault {
  const fault = report(error);
  if (fault.code !== "servlet_error" && fault.code !== "servlet_failed") throw fault;
  return fault;
}

/** The call of a request to this tool, as a task stores it. */
function taskCallOf(tool: ToolEntry, { params }: Request, { pages }: Exchange, call: ModernCall) {
  const { id, meta, principal, client, trace } = call;
  const asked = { name: params["name"], arguments: params["arguments"] ?? {} };
  const own = { id, meta, principal, client, trace, params: asked, method: "tools/call" };
  return { ...own, ...linkOf(pages, tool) };
}

/** Undefined if the tool's calls never become tasks or its client supports none. Throws `missing_capability`. */
function promoterOf(
  tool: ToolEntry,
  request: Request,
  exchange: Exchange,
  call: ModernCall,
): Promotions | undefined {
  const { tasks } = exchange;
  const mode = taskMode(tool);
  if (mode === "required") demandTasks(call.client);
  const gate = taskGate(mode);
  if (tasks === undefined || gate === undefined || !takesTasks(call.client)) return undefined;
  let message: string | undefined;
  const create = async (
    changes: Partial<TaskCall>,
    { end, id }: { end?: TaskEnd; id?: string } = {},
  ) => {
    const made = { ...taskCallOf(tool, request, exchange, call), ...changes };
    // A retry of a request that goes on from a state creates the same task.
    const known = id === undefined ? {} : { id, isRetried: true };
    return createTaskResult(await tasks.create(made, end, known));
  };
  return {
    gate,
    notify(notice: Notification) {
      message = progressOf(notice) ?? message;
      call.notify(notice);
    },
    async task(changes, resumption) {
      const made = { ...changes, ...(message !== undefined && { message }) };
      if (resumption === undefined) return create(made);
      const { id, recorded: known } = await resumption.task(tasks.newId());
      const own = changes.recorded?.notices ?? 0;
      return create({ ...made, ...(known && { recorded: { ...known, notices: own } }) }, { id });
    },
    ...(mode !== "auto" && {
      async end(end: TaskEnd, resumption?: Resumption) {
        const made = await resumption?.task(tasks.newId());
        return create({}, { end, ...(made && { id: made.id }) });
      },
    }),
  };
}
