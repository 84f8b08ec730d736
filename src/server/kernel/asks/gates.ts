/** Gates: they stop a call before a long wait, so that it continues as a task or by a link. */
import { limits } from "../core/limits.ts";
import { Wait } from "../core/suspension.ts";
import type { CallContext } from "../core/call-context.ts";
import type { ToolEntry } from "../servlets/catalog.ts";

type TaskMode = "never" | "auto" | "always" | "required";

const MODES: Readonly<Record<string, TaskMode>> = {
  forbidden: "never",
  optional: "auto",
  required: "required",
};

/** The task mode of this tool: from the manifest, else from its `execution`. */
export function taskMode({ servlet, own, tool }: ToolEntry): TaskMode {
  const said = servlet.manifest.tools?.[own]?.task;
  return said ?? MODES[String(tool.execution?.taskSupport)] ?? "auto";
}

/**
 * A gate that turns a call into a task when its servlet begins to wait: at once if every call of the tool is a task,
 * else when the wait would exceed `mostMs`.
 */
export function taskGate(mode: TaskMode, mostMs = limits.promoteAfterMs): CallContext["gate"] {
  if (mode === "never") return undefined;
  const began = Date.now();
  return (ms) => {
    if (mode !== "auto" || Date.now() - began + ms > mostMs) {
      throw new Wait({ kind: "task" });
    }
  };
}

/**
 * The gate of a call that can be handed over, for a client that accepts no stream. Calls with session state are not
 * handed over.
 */
export function silenceGate(tool: ToolEntry): CallContext["gate"] {
  const stays = taskMode(tool) === "never" || tool.servlet.manifest.state === "session";
  return taskGate(stays ? "never" : "auto", limits.silentMs);
}
