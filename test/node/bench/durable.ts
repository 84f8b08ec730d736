import { rm } from "node:fs/promises";
import { join } from "node:path";
import { residentMB, serve, stop } from "../workerd.ts";
import { drive } from "./load.ts";

/** Cost of waiting: figures of calls that outlive their request. Times in milliseconds. */
export interface DurableFigures {
  /** A sealed state of a call with one question. */
  stateBytes: number;
  /** Resuming a call with 10 recorded answers, as a multiple of a new call of the same servlet. */
  resume10: number;
  /** A request that goes on with a call of 100 recorded answers. */
  replay100Ms: number;
  /** From the answer that a task waits for to what its servlet asks next. */
  answerToAskMs: number;
  /** How late an alarm wakes a task that slept for 6 seconds. */
  alarmLateMs: number;
  /** Resident memory of a server with so many waiting tasks, as a multiple of one without. */
  waitingMemory: number;
}

const VERSION = "2026-07-28";
const TASKS = { "io.modelcontextprotocol/tasks": {} };

type Json = Record<string, any>;

function messageOf(port: number) {
  let id = 0;
  const request = (method: string, params: Json, capabilities: Json) => ({
    headers: {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      "mcp-name": String(params["name"] ?? params["taskId"]),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: ++id,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": VERSION,
          "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
      },
    }),
  });
  const send = async (method: string, params: Json, capabilities: Json): Promise<Json> => {
    const { headers, body } = request(method, params, capabilities);
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", accept: "application/json" },
      body,
    });
    const { result, error } = (await response.json()) as Json;
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return result;
  };
  return { request, send };
}

const steps = (count: number, step: Json) => Array.from({ length: count }, () => step);
const question = { do: "elicit", message: "Who?" };
const answer = { action: "accept", content: { value: "Ada" } };
const plan = (of: Json[], name = "plan") => ({ name, arguments: { steps: of } });
const asking = { elicitation: {} };
const lasting = { elicitation: {}, extensions: TASKS };

/** Answers question after question until the next answer is the last; gives the request that brings it. */
async function lastRequest(port: number, of: Json[]): Promise<Json> {
  const { send } = messageOf(port);
  let params: Json = plan(of);
  const questions = of.filter((step) => step["do"] === "elicit").length;
  for (let round = 0; round < questions; round++) {
    const result = await send("tools/call", params, asking);
    const [key] = Object.keys(result["inputRequests"]);
    params = {
      ...plan(of),
      requestState: result["requestState"],
      inputResponses: { [key!]: answer },
    };
  }
  return params;
}

async function perSecond(port: number, params: Json): Promise<number> {
  const load = { port, connections: 4, ...messageOf(port).request("tools/call", params, asking) };
  const isDone = (body: string) => body.includes("200 OK") && body.includes('"complete"');
  return (await drive(load, (_count, ms) => ms > 1500, isDone)).perSecond;
}

async function untilTask(
  port: number,
  taskId: string,
  isThere: (task: Json) => boolean,
): Promise<Json> {
  for (;;) {
    const task = await messageOf(port).send("tasks/get", { taskId }, lasting);
    if (isThere(task)) return task;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function answerToAsk(port: number): Promise<number> {
  const { send } = messageOf(port);
  const times: number[] = [];
  for (let round = 0; round < 20; round++) {
    const { taskId } = await send("tools/call", plan([question, question], "plan_always"), lasting);
    const asked = (task: Json) => task["status"] === "input_required";
    const { inputRequests } = await untilTask(port, taskId, asked);
    const key = Object.keys(inputRequests)[0]!;
    const began = performance.now();
    await send("tasks/update", { taskId, inputResponses: { [key]: answer } }, lasting);
    await untilTask(port, taskId, (task) => asked(task) && !(key in task["inputRequests"]));
    times.push(performance.now() - began);
  }
  return times.toSorted((a, b) => a - b)[10]!;
}

async function alarmLate(port: number): Promise<number> {
  const { send } = messageOf(port);
  const sleeping = plan([{ do: "sleep", ms: 6000 }], "plan_always");
  const { taskId } = await send("tools/call", sleeping, lasting);
  const task = await untilTask(port, taskId, ({ status }) => status === "completed");
  return Date.parse(task["lastUpdatedAt"]) - Date.parse(task["createdAt"]) - 6000;
}

/** Measures a Worker of the tests' guests on two ports. `tasks` is how many wait. */
export async function measureDurable(
  folder: string,
  port: number,
  tasks: number,
): Promise<DurableFigures> {
  const storage = join(folder, "waiting");
  await rm(storage, { recursive: true, force: true });
  let served = await serve(folder, { port, durable: storage });
  const { send } = messageOf(port);
  const one = await send("tools/call", plan([question]), asking);
  const resume10 = await lastRequest(port, steps(10, question));
  // The same call with the same answers, all there from the beginning.
  const keys = Array.from({ length: 10 }, (_, at) => [`ask_${at + 1}`, answer]);
  const fresh = { ...plan(steps(10, question)), inputResponses: Object.fromEntries(keys) };
  const ratios: number[] = [];
  for (let round = 0; round < 3; round++) {
    ratios.push((await perSecond(port, fresh)) / (await perSecond(port, resume10)));
  }
  const replay100 = await lastRequest(port, [...steps(99, { do: "sleep", ms: 1 }), question]);
  const figures = {
    stateBytes: one["requestState"].length as number,
    resume10: ratios.toSorted((a, b) => a - b)[1]!,
    replay100Ms: 4000 / (await perSecond(port, replay100)),
    answerToAskMs: await answerToAsk(port),
    alarmLateMs: await alarmLate(port),
  };
  await stop(served);
  served = await serve(folder, { port, durable: join(folder, "empty") });
  await send("tools/call", plan([]), asking);
  const without = await residentMB(served);
  await stop(served);
  served = await serve(folder, { port, durable: storage });
  const waiting = plan([question], "plan_always");
  const each = async () => {
    for (let at = 0; at < tasks / 16; at++) await send("tools/call", waiting, lasting);
  };
  await Promise.all(Array.from({ length: 16 }, each));
  await stop(served);
  served = await serve(folder, { port, durable: storage });
  await send("tools/call", plan([]), asking);
  const withTasks = await residentMB(served);
  await stop(served);
  return { ...figures, waitingMemory: withTasks / without };
}
