import { configureLimits } from "../../../src/server/kernel/core/limits.ts";
import { limits } from "../../../src/server/features/tasks/limits.ts";
import { processor } from "../../../src/server/kernel/wasm/processor.ts";
import {
  loadDeployment,
  loadPythonDeployment,
  loadRemoteDeployment,
  loadTransfersDeployment,
  loadUnattendedDeployment,
} from "./deployment.ts";
import { replaceGlobals } from "./globals.ts";
import type { Asking } from "./answer-judge.ts";
import { judge } from "./judge.ts";
import type { Against, Violation } from "./rules.ts";
import type { Attempt } from "./attempt.ts";
import { Bucket } from "./bucket.ts";
import { begun } from "./clients.ts";
import { HttpServer } from "./http-server.ts";
import type { SimulatedObject } from "./object.ts";
import { Platform, ROOM } from "./platform.ts";
import { described, isKeeping, saidMs, toolsIn, type Step } from "./programs.ts";
import { judgeRemote, RemoteCaller, type RemoteCall } from "./remote-caller.ts";
import { ownWorldOf, type Call, type Scene } from "./scene.ts";
import { innerAttempts, judgeState, scopeOf } from "./state-judge.ts";
import { BEGINNING, Scheduler } from "./scheduler.ts";
import { judgeStored } from "./stored-judge.ts";
import { TransfersClient } from "./transfers-client.ts";
import { Story, UnattendedClient } from "./unattended-clients.ts";
import { judgeUnattended, type TaskTimes } from "./unattended-judge.ts";

export interface Outcome {
  scene: Scene;
  violations: Violation[];
  trace: string[];
  digest: string;
  /** Events that have happened, and faults among them. */
  events: number;
  faults: number;
  ends: string[];
}

const DAY = 86_400_000;
/** How long a step may be held up: whoever looks at a task pauses for less, and a late alarm that nobody looks at is less late. */
const HELD_UP = { polled: DAY / 8, other: 1.5 * DAY };
/** Runs in vain from which a task may have been given up, as not all are seen. */
const MOST_IN_VAIN = limits.maxRuns - 2;
/** The log of a run that has failed, as it had waited for too long where everything stood still. */
const FAILED_RUN = / threw after \d+ ms/;
/** How long an object may have alarm after alarm: by as much as clocks differ it may wait for its own. */
const MOST_ALARMS_MS = 10_000;
/** Events after which a call is taken to have no end. */
const MOST_EVENTS = 100_000;

const load = {
  typescript: () => loadDeployment(),
  python: loadPythonDeployment,
  unattended: loadUnattendedDeployment,
  transfers: loadTransfersDeployment,
  remote: loadRemoteDeployment,
};
/** Room for the files of a caller. */
const { callerTransferBytes } = limits;
const NARROW_BYTES = 3_000_000;
const deployments: Partial<Record<keyof typeof load, ReturnType<typeof loadDeployment>>> = {};

/** Plays a scene to its end, and judges what was seen. */
export async function play(scene: Scene): Promise<Outcome> {
  const own = ownWorldOf(scene.calls[0]!);
  const served = own ?? scene.language ?? "typescript";
  const deployment = await (deployments[served] ??= load[served]());
  const { isNarrow = false, hasBucket = false } = scene;
  configureLimits({
    ...ROOM,
    callerTransferBytes: isNarrow ? NARROW_BYTES : callerTransferBytes,
  });
  processor.forget();
  const { bindings, variables, durableObjects, createApp } = deployment;
  const scheduler = new Scheduler(scene.seed);
  const bucket = hasBucket ? new Bucket() : undefined;
  const all = { ...variables, ...(bucket && { TRANSFERS_BUCKET: bucket }) };
  const platform = new Platform(scheduler, scene.faults, bindings, all, durableObjects);
  if (bucket !== undefined) bucket.platform = platform;
  const internet = new HttpServer(platform, scene.unreliable);
  const restore = replaceGlobals(scheduler, (request) => internet.fetch(request));
  const violations: Violation[] = [];
  const against: Against = (rule, what) => void violations.push({ rule, what });
  try {
    const app = createApp(platform.env);
    const askings = watchTasks(platform, violations, internet);
    const calls = scene.calls.map((call, at) => ({ ...call, label: `c${at + 1}` }));
    for (const { label, client, tool, program: steps } of calls) {
      scheduler.note(`${label} (${client}) is ${tool}: ${described(steps)}`, "world");
    }
    const story = new Story();
    const refusals: string[] = [];
    const remoteCalls: RemoteCall[] = [];
    const toleranceMs = 60_000 + 2 * scene.faults.skewMs;
    const clientOf = (world: ReturnType<Platform["clientWorld"]>, call: (typeof calls)[number]) => {
      if (own === "transfers")
        return new TransfersClient(world, call, { against, isNarrow, toleranceMs, refusals });
      if (own === "remote") return new RemoteCaller(world, call, remoteCalls);
      return new UnattendedClient(world, call, { story, internet });
    };
    const run = async (some: typeof calls) => {
      const attended = begun(
        some.filter((call) => ownWorldOf(call) === undefined),
        (name, caller) =>
          platform.clientWorld(app, name, caller === undefined ? undefined : `203.0.113.${caller}`),
      );
      const withOwn = some.filter((call) => ownWorldOf(call) !== undefined);
      const others = withOwn.map((call) => {
        const world = platform.clientWorld(app, `client of ${call.label}`);
        const client = clientOf(world, call);
        return { world, label: call.label, attempts: [], run: () => client.run() };
      });
      const clients = [...attended, ...others];
      const open = new Set(clients);
      for (const one of clients) {
        await scheduler.within(one.world.actor, () => {
          void one.run().then(
            () => open.delete(one),
            (error: unknown) => {
              open.delete(one);
              violations.push({ rule: "ends at all", what: `the client fails: ${String(error)}` });
            },
          );
        });
      }
      while (open.size > 0 && scheduler.steps < MOST_EVENTS) {
        if (platform.isFaulty && scheduler.steps >= scene.steps) {
          platform.isFaulty = false;
          scheduler.note("faults stop", "world");
        }
        if (!(await scheduler.step())) break;
        askings.look();
      }
      platform.isFaulty = false;
      for (const one of others)
        if (open.has(one))
          violations.push({ rule: "ends at all", what: `${one.label} does not end` });
      return clients.flatMap((one) => one.attempts);
    };
    const attempts = await run(calls);
    const lastedMs = scheduler.now - BEGINNING;
    if (own === undefined && lastedMs > mostMs(attempts, platform.injected))
      violations.push({ rule: "on time", what: `it took ${(lastedMs / DAY).toFixed(2)} days` });
    const looks = looksAt(calls);
    attempts.push(...(await run(looks)));
    violations.push(...judgeScopes([...calls, ...looks], attempts));
    for (const attempt of attempts) {
      const id = attempt.taskId ?? "";
      violations.push(
        ...judge({
          attempt,
          internet,
          isForked: attempt.fork !== undefined || attempts.some(({ fork }) => fork?.of === attempt),
          askings: askings.of(id),
          faults: platform.injected,
          runsInVain: askings.mostInVain,
          stoodStill: platform.stoodStill,
          toleranceMs: 10_000 + 2 * scene.faults.skewMs,
        }),
      );
    }
    const isFaultless = platform.injected === 0 && scene.unreliable === 0;
    if (own === "transfers") judgeStored([...platform.objects.values()], { bucket, against });
    if (isFaultless) for (const refusal of refusals) against("no failure of ours", refusal);
    // Long after, when the time of all is over.
    const late = scheduler.now + 40 * DAY;
    for (let events = 0; events < MOST_EVENTS && (await scheduler.step(late)); events++)
      if (own !== undefined) askings.look();
    if (own === "remote") {
      const longest = (1 + platform.injected) * HELD_UP.polled;
      judgeRemote(remoteCalls, internet.remotes.effects, { against, isFaultless, mostMs: longest });
    }
    const objects = [...platform.objects.values()];
    for (const key of bucket?.stored.keys() ?? [])
      if (!objects.some(({ id, hasLostAlarm }) => hasLostAlarm && key.startsWith(`${id}/`)))
        against("nothing is left", `${key} in the bucket`);
    if (own === "unattended")
      violations.push(
        ...judgeUnattended({
          story,
          internet,
          timesOf: askings.timesOf,
          isFaultless,
          isExcused:
            askings.mostInVain >= MOST_IN_VAIN ||
            scheduler.backMs >= limits.taskMs ||
            (platform.stoodStill && scheduler.trace.some((line) => FAILED_RUN.test(line))) ||
            objects.some(({ hasLostAlarm }) => hasLostAlarm),
          toleranceMs: 60_000,
        }),
      );
    const isStateLeft = objects.some(
      ({ kind, hasLostAlarm }) => kind === "ServletState" && hasLostAlarm,
    );
    for (const object of objects) {
      if (object.sameAlarms > 0)
        violations.push({ rule: "alarms lead on", what: `${object.name}: ${object.sameAlarms}` });
      if (object.longestAlarms > MOST_ALARMS_MS)
        violations.push({
          rule: "alarms lead on",
          what: `${object.name} has alarm after alarm for ${object.longestAlarms} ms`,
        });
      if (["KeyRing", "KeyRecords"].includes(object.kind) || isForgotten(object)) continue;
      if (object.kind === "Hub" || object.hasLostAlarm) continue;
      if (object.kind === "Quota" && isStateLeft) continue;
      // Only what was kept for a session has an end.
      const isKept =
        own === "remote" || looks.length > 0 || calls.some((call) => insideOf(call).length > 0);
      if (["ServletState", "Quota"].includes(object.kind) && isKept) continue;
      violations.push({
        rule: "nothing is left",
        what: `${object.name} at ${object.storage.durableAlarm}`,
      });
    }
    const ends = attempts.map(
      ({ label, end, isOrphan }) => `${label}: ${isOrphan ? "orphan" : String(end?.["status"])}`,
    );
    return {
      scene,
      violations,
      trace: scheduler.trace,
      digest: scheduler.digest,
      events: scheduler.steps,
      faults: platform.injected,
      ends,
    };
  } finally {
    restore();
    platform.close();
  }
}

/** Tables that are there while their object is. */
const KEPT_TABLES: Record<string, string> = { Schedules: "schedules", Events: "events" };

/** True if an object stores nothing any more. */
function isForgotten({ kind, storage }: SimulatedObject): boolean {
  const table = KEPT_TABLES[kind];
  if (table === undefined || !storage.has(table)) return storage.isEmpty;
  return storage.peek(`SELECT 1 AS one FROM ${table}`) === undefined;
}

/** The most that these calls may take: as long as they say, and as they may be held up at each step and by each fault. */
function mostMs(attempts: Attempt[], faults: number): number {
  const all = attempts.map(({ program, taskId }) => {
    const heldUp = taskId === undefined ? HELD_UP.other : HELD_UP.polled;
    return 2 * saidMs(program) + (lengthOf(program) + 1 + faults) * heldUp;
  });
  return all.reduce((sum, ms) => sum + ms, 0);
}

/** Calls to the servlets that keep state which are called within this one. */
function insideOf(call: LabelledCall): LabelledCall[] {
  const tools = new Set(toolsIn(call.program).filter(isKeeping));
  return [...tools].map((tool) => ({ ...call, tool, label: `${tool}-in-${call.label}` }));
}

/** How many steps there are, those of branches too. */
const lengthOf = (steps: Step[]): number =>
  steps.reduce((sum, { branches = [] }) => sum + 1 + lengthOf(branches.flat()), 0);

/** A last call in each scope that outlives its clients: it sees what is kept there. */
function looksAt(calls: readonly LabelledCall[]): LabelledCall[] {
  const all = calls.flatMap((call) => [call, ...insideOf(call)]);
  const scopes = Map.groupBy(all, scopeOf);
  return [...scopes].flatMap(([scope, [call]]) => {
    if (scope === undefined || scope.includes("session")) return [];
    const { client, tool } = call!;
    const isFiles = client === "files";
    const label = `${call!.label}-look`;
    return {
      ...call!,
      label,
      client: isFiles ? "files" : "sessionless",
      tool: isFiles ? tool : `${tool.slice(0, 2)}-plan`,
      program: [{ do: "keep" }],
    };
  });
}

type LabelledCall = Call & { label: string };

function judgeScopes(calls: readonly LabelledCall[], attempts: Attempt[]): Violation[] {
  // A session looks itself.
  const isOf = ({ label }: LabelledCall, of: string) =>
    of === label || (of.startsWith(label) && /^['-]/.test(of.slice(label.length)));
  const scoped = attempts.flatMap((attempt) => {
    const call = calls.find((one) => isOf(one, attempt.label));
    if (call === undefined) return [];
    return [attempt, ...innerAttempts(attempt)].map((one) => ({
      scope: scopeOf({ ...call, tool: one.tool }),
      attempt: one,
    }));
  });
  return [...Map.groupBy(scoped, ({ scope }) => scope)].flatMap(([scope, some]) =>
    scope === undefined
      ? []
      : judgeState(
          scope,
          some.map(({ attempt }) => attempt),
        ),
  );
}

/** Sees when tasks could be answered, how they come on, and what those send that are over. */
function watchTasks(platform: Platform, violations: Violation[], internet: HttpServer) {
  const { scheduler } = platform;
  const tasks = new Map<string, Watched>();
  let sent = 0;
  const rowOf = ({ storage }: SimulatedObject): { status: string; answers: number } => {
    if (!storage.has("task")) return { status: "none", answers: 0 };
    const row = storage.peek("SELECT status, (SELECT count(*) FROM answers) AS answers FROM task");
    return { status: String(row?.["status"]), answers: Number(row?.["answers"]) };
  };
  const follow = (object: SimulatedObject): void => {
    const task = tasks.get(object.id) ?? {
      status: "",
      kept: "",
      alarms: 0,
      inVain: 0,
      askings: [],
      since: scheduler.now,
      over: Infinity,
    };
    tasks.set(object.id, task);
    task.inVain = Math.max(task.inVain, object.alarms - task.alarms);
    // Writes that are not on the disk yet may be lost, and done again.
    if (object.storage.unconfirmed > 0) return;
    const { status, answers } = rowOf(object);
    const kept = `${status} ${answers}`;
    if (kept === task.kept) return;
    // A task that has got an answer, but is seen to ask before and after it, asks something else.
    if (task.status === "input_required") task.askings.at(-1)!.until = scheduler.now;
    if (status === "input_required") task.askings.push({ from: scheduler.now, until: Infinity });
    if (status !== "working" && status !== "input_required") task.over = scheduler.now;
    Object.assign(task, { status, kept, alarms: object.alarms });
  };
  return {
    of: (id: string) => tasks.get(id)?.askings ?? [],
    /** When the task of this name was first seen, and was over. */
    timesOf: (name: string): TaskTimes => {
      const object = [...platform.objects.values()].find((one) => one.name === name);
      return tasks.get(object?.id ?? "") ?? { since: -Infinity, over: Infinity };
    },
    /** How often at most a task was run in vain. */
    get mostInVain(): number {
      return Math.max(0, ...[...tasks.values()].map((task) => task.inVain));
    },
    look(): void {
      for (; sent < internet.sent.length; sent++) {
        const { label, from } = internet.sent[sent]!;
        const sender = platform.ownerOf(from);
        if (sender?.kind !== "Task" || rowOf(sender).status !== "cancelled") continue;
        violations.push({ rule: "quiet when cancelled", what: `${from.name} sends ${label}` });
      }
      const { last } = scheduler;
      // An event of nobody may be a write that has reached the disk.
      const objects = last === undefined ? platform.objects.values() : [platform.ownerOf(last)];
      for (const object of objects) if (object?.kind === "Task") follow(object);
    },
  };
}

interface Watched extends TaskTimes {
  /** As the disk has it. */
  status: string;
  /** How far it was, as the disk has it. */
  kept: string;
  /** How often its alarm had gone off when it last came on. */
  alarms: number;
  inVain: number;
  askings: Asking[];
}

/** The failures; known holes are among them only if `isStrict`. */
export const failuresOf = ({ violations }: Outcome, isStrict = false): Violation[] =>
  violations.filter(({ hole }) => isStrict || hole === undefined);

/** A scene as it can be played again, in a table of regressions too. */
export const describedScene = (scene: Scene): string => JSON.stringify(scene);
