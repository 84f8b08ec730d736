import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Supervisor } from "../../../src/tools/host/supervisor.ts";
import type { Workerd } from "../../../src/tools/host/workerd.ts";

/** The process that is kept running is one that only waits. */
const started: Workerd[] = [];

function begin(): Workerd {
  const workerd = { process: spawn("sleep", ["60"]), ports: new Map() };
  started.push(workerd);
  return workerd;
}

const supervisors: Supervisor[] = [];

function supervisorOf(start: () => Promise<Workerd>): Supervisor {
  const supervisor = new Supervisor({ start, say() {} });
  supervisors.push(supervisor);
  return supervisor;
}

const plain = () => supervisorOf(() => Promise.resolve(begin()));

/** The state of the process that was started last, as one letter; T is standing still. */
async function state(): Promise<string> {
  const stat = await readFile(`/proc/${started.at(-1)!.process.pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2)[0]!;
}

// Stopped, not killed: else what is kept running is started again.
afterEach(() => Promise.all(supervisors.splice(0).map((one) => one.stop(0))));

describe.skipIf(process.platform !== "linux")("on Linux, the process that is kept running", () => {
  test("two that wait for the end of a backup hold the process one after the other", async () => {
    const supervisor = plain();
    await supervisor.start();
    const first = await supervisor.hold();
    const ends: (() => void)[] = [];
    const others = [supervisor.hold(), supervisor.hold()].map((held) =>
      held.then((end) => void ends.push(end)),
    );
    first();
    await Promise.race(others);
    await new Promise((done) => setImmediate(done));
    expect(ends).toHaveLength(1);
    ends[0]!();
    await Promise.all(others);
    await expect.poll(state).toBe("T");
    ends[1]!();
    await expect.poll(state).not.toBe("T");
  });

  test("a process that is just being started is held too", async () => {
    const going = Promise.withResolvers<Workerd>();
    const supervisor = supervisorOf(() => going.promise);
    const isUp = supervisor.start();
    let isHeld = false;
    const held = supervisor.hold().finally(() => (isHeld = true));
    await new Promise((done) => setImmediate(done));
    expect(isHeld).toBe(false);
    going.resolve(begin());
    await isUp;
    const end = await held;
    expect(await state()).toBe("T");
    end();
  });

  test("one that died is not started again while it is held", async () => {
    const counted = () => vi.fn<() => Promise<Workerd>>(() => Promise.resolve(begin()));
    const starts = [counted(), counted()] as const;
    const [held, free] = starts.map(supervisorOf) as [Supervisor, Supervisor];
    const processes = [await held.start(), await free.start()].map(({ process }) => process);
    const end = await held.hold();
    for (const process of processes) {
      const gone = once(process, "exit");
      process.kill("SIGKILL");
      await gone;
    }
    await expect.poll(() => starts[1].mock.calls.length).toBe(2);
    expect(starts[0]).toHaveBeenCalledTimes(1);
    end();
    await expect.poll(() => starts[0].mock.calls.length).toBe(2);
  });

  test("told to stop, it never lets a held process go on, which would write meanwhile", async () => {
    const supervisor = plain();
    const { process } = await supervisor.start();
    await supervisor.hold();
    const gone = once(process, "exit");
    expect(await supervisor.stop(50)).toBe(false);
    expect(await gone).toEqual([null, "SIGKILL"]);
  });

  test("told to stop, it waits for the end of a backup", async () => {
    const supervisor = plain();
    const { process } = await supervisor.start();
    const end = await supervisor.hold();
    const gone = once(process, "exit");
    const stopped = supervisor.stop(20_000);
    expect(await state()).toBe("T");
    end();
    expect(await stopped).toBe(true);
    expect(await gone).toEqual([null, "SIGTERM"]);
  });
});
