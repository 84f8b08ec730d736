import { getResult } from "../calls/get-result.ts";
import { Starts } from "../calls/starts.ts";
import { Task } from "../calls/task.ts";
import { tasksOf } from "../calls/tasks.ts";
import type { Feature } from "../kernel.ts";
import { madeWith } from "../object-class.ts";

/** Calls that outlive their request: tasks, and calls that go on by a link. */
export const tasksFeature: Feature = {
  name: "tasks",
  start(kernel) {
    const { env, settings } = kernel;
    const all = tasksOf(env);
    return {
      parts: { ...(all && { tasks: all }), starts: new Starts() },
      objects: { Task: madeWith(() => kernel.sealing, Task) },
      ...(all &&
        settings.LINKS === "on" && {
          tools: {
            server: { get_result: getResult((principal) => all(principal, async () => {})) },
          },
        }),
    };
  },
};
