/** A board of tasks, another one for each caller: a model works with it by text, and people see it and move its tasks. */
import { defineServlet, ToolError } from "edge-servlets/servlet";

const COLUMNS = ["to do", "doing", "done"] as const;
const MOST_TASKS = 500;

interface Task {
  id: number;
  text: string;
  column: (typeof COLUMNS)[number];
}

/** In their order within each column. */
let tasks: Task[] = [];
let newest = 0;

const ID = { type: "integer", minimum: 1, description: "The task's id" } as const;
const TEXT = { type: "string", minLength: 1, maxLength: 500 } as const;
const COLUMN = { type: "string", enum: COLUMNS } as const;

const BOARD = {
  type: "object",
  properties: {
    tasks: {
      type: "array",
      items: {
        type: "object",
        properties: { id: ID, text: { type: "string" }, column: COLUMN },
        required: ["id", "text", "column"],
      },
    },
  },
  required: ["tasks"],
} as const;

/** The board as a model reads it, and as the view does. */
function board(said?: string) {
  const columns = COLUMNS.map((column) => {
    const lines = tasks.filter((task) => task.column === column);
    return [`${column}:`, ...lines.map(({ id, text }) => `  ${id}. ${text}`)].join("\n");
  });
  const text = [...(said === undefined ? [] : [said]), ...columns].join("\n");
  return { content: [{ type: "text" as const, text }], structuredContent: { tasks } };
}

function taskOf(id: number): Task {
  const task = tasks.find((one) => one.id === id);
  if (task) return task;
  throw new ToolError(`There is no task ${id}. See list_tasks.`);
}

export default defineServlet({
  views: {
    board: {
      file: "./board.tsx",
      title: "Task board",
      description: "The tasks in their columns, to be dragged, added and removed",
    },
  },
  tools: {
    list_tasks: {
      title: "Show the task board",
      description: "Lists the tasks of the board by column: to do, doing, done.",
      view: "board",
      output: BOARD,
      annotations: { readOnlyHint: true, openWorldHint: false },
      handler: () => board(),
    },
    add_task: {
      title: "Add a task",
      description: "Adds a task to the board, below those of its column.",
      view: "board",
      input: {
        type: "object",
        properties: { text: TEXT, column: { ...COLUMN, default: "to do" } },
        required: ["text"],
        additionalProperties: false,
      },
      output: BOARD,
      annotations: { destructiveHint: false, openWorldHint: false },
      handler({ text, column = "to do" }) {
        if (tasks.length >= MOST_TASKS)
          throw new ToolError(`There are ${MOST_TASKS} tasks. Remove those that are done.`);
        newest += 1;
        tasks = [...tasks, { id: newest, text, column }];
        return board(`Added ${newest}.`);
      },
    },
    move_task: {
      title: "Move a task",
      description: "Moves a task to a column, below its tasks, or above one of them.",
      view: "board",
      input: {
        type: "object",
        properties: {
          id: ID,
          column: COLUMN,
          before: { ...ID, description: "The task of that column that it comes before" },
        },
        required: ["id", "column"],
        additionalProperties: false,
      },
      output: BOARD,
      annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
      handler({ id, column, before }) {
        const moved = { ...taskOf(id), column };
        const others = tasks.filter((task) => task.id !== id);
        const at =
          before === undefined || before === id ? others.length : others.indexOf(taskOf(before));
        tasks = others.toSpliced(at, 0, moved);
        return board(`Moved ${id} to ${column}.`);
      },
    },
    remove_task: {
      title: "Remove a task",
      description: "Removes a task from the board for good.",
      view: "board",
      input: {
        type: "object",
        properties: { id: ID },
        required: ["id"],
        additionalProperties: false,
      },
      output: BOARD,
      annotations: { openWorldHint: false },
      handler({ id }) {
        const { text } = taskOf(id);
        tasks = tasks.filter((task) => task.id !== id);
        return board(`Removed: ${text}`);
      },
    },
  },
});
