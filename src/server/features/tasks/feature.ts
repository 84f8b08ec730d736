import { getResult } from "./get-result.ts";
import { tasksSettings } from "./settings.ts";
import { Starts } from "./starts.ts";
import { Task } from "./task.ts";
import { tasksOf } from "./tasks.ts";
import { fits } from "../../kernel/core/glob.ts";
import type { Feature, Kernel } from "../../kernel/kernel.ts";
import type { Methods } from "../../kernel/mcp/method.ts";
import { cancelTask, getTask, updateTask } from "./methods.ts";
import { unattendedRuns, type UnattendedRuns } from "./unattended.ts";
import { objectClassWith } from "../../kernel/object-class.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Tasks, and calls handed over to a person by a link. */
    TASKS?: DurableObjectNamespace<Task>;
  }
}

declare module "../../kernel/kernel.ts" {
  interface Parts {
    /** Limits how many tasks begin at once. */
    starts?: Starts;
    /** Begins runs of servlets that no client waits for. */
    unattended?: UnattendedRuns;
  }
}

const taskMethods: Methods = {
  "tasks/get": { modern: getTask, namedBy: "taskId" },
  "tasks/update": { modern: updateTask, namedBy: "taskId" },
  "tasks/cancel": { modern: cancelTask, namedBy: "taskId" },
};

/** `Kernel.prefersLinks` for clients with these names; the header `Prefer-Links` has the last word. */
const linksFor =
  (names: readonly string[]): Kernel["prefersLinks"] =>
  (client, headers) => {
    const wanted = headers.get("prefer-links");
    if (wanted !== null) return wanted === "true";
    return client !== undefined && names.some((glob) => fits(glob, client));
  };

/** Calls that outlive their request: tasks, and calls handed over to a person by a link. */
export const tasksFeature: Feature = {
  name: "tasks",
  settings: tasksSettings,
  start(kernel) {
    const { env, settings } = kernel;
    const all = tasksOf(env);
    const unattended = unattendedRuns(all, kernel);
    return {
      methods: taskMethods,
      parts: {
        ...(all && { tasks: all }),
        starts: new Starts(),
        ...(unattended && { unattended }),
        ...(settings.LINKS === "on" && { prefersLinks: linksFor(settings.LINK_CLIENTS) }),
      },
      objects: { Task: objectClassWith(() => kernel.sealing, Task) },
      ...(all &&
        settings.LINKS === "on" && {
          tools: {
            server: { get_result: getResult((principal) => all(principal, async () => {})) },
          },
        }),
    };
  },
};
