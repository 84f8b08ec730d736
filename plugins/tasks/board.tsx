/** The board as people see it: tasks are dragged, or moved by their buttons, and the model sees the same board. */
import { connect } from "edge-servlets/view";
import { render } from "preact";
import { useState } from "preact/hooks";
import type servlet from "./servlet.ts";
import "./board.css";

type Tools = "list_tasks" | "add_task" | "move_task" | "remove_task";
const view = await connect<typeof servlet, Tools>({ name: "tasks" });

type Tasks = NonNullable<NonNullable<(typeof view.state)["result"]>["structuredContent"]>["tasks"];
type Column = Tasks[number]["column"];

const COLUMNS: readonly Column[] = ["to do", "doing", "done"];

/** The newest board: of the call that is shown, or of a call from here. */
let tasks: Tasks | undefined;
let trouble = "";

async function change(call: Promise<{ structuredContent?: { tasks: Tasks } }>): Promise<void> {
  try {
    const { structuredContent } = await call;
    tasks = structuredContent?.tasks ?? tasks;
    trouble = "";
    if ("updateModelContext" in view.capabilities)
      await view.tell({ structuredContent: { tasks }, text: "The user has changed the board." });
  } catch (error) {
    trouble = (error as Error).message;
  }
  draw();
}

const move = (id: number, column: Column, before?: number) =>
  change(view.call("move_task", { id, column, ...(before !== undefined && { before }) }));

function Board({ tasks }: { tasks: Tasks }) {
  const [dragged, setDragged] = useState<number>();
  const [over, setOver] = useState<Column>();
  const [text, setText] = useState("");
  const drop = (event: DragEvent, column: Column, before?: number) => {
    event.preventDefault();
    event.stopPropagation();
    if (dragged !== undefined) void move(dragged, column, before);
    setDragged(undefined);
    setOver(undefined);
  };
  return (
    <main>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") void change(view.call("add_task", { text: text.trim() }));
          setText("");
        }}
      >
        <input
          aria-label="New task"
          placeholder="New task"
          maxLength={500}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Add</button>
      </form>
      {trouble !== "" && <p role="alert">{trouble}</p>}
      <div class="board">
        {COLUMNS.map((column, nth) => {
          const inside = tasks.filter((task) => task.column === column);
          return (
            <section
              key={column}
              class={over === column ? "over" : ""}
              onDragOver={(event) => (event.preventDefault(), setOver(column))}
              onDragLeave={() => setOver(undefined)}
              onDrop={(event) => drop(event, column)}
            >
              <h2>
                {column} <span>{inside.length}</span>
              </h2>
              <ul>
                {inside.map(({ id, text }) => (
                  <li
                    key={id}
                    draggable
                    onDragStart={() => setDragged(id)}
                    onDragEnd={() => setDragged(undefined)}
                    onDrop={(event) => drop(event, column, id)}
                  >
                    <p>{text}</p>
                    <div>
                      {nth > 0 && (
                        <button
                          type="button"
                          aria-label={`Move "${text}" to ${COLUMNS[nth - 1]}`}
                          onClick={() => move(id, COLUMNS[nth - 1]!)}
                        >
                          ←
                        </button>
                      )}
                      {nth < COLUMNS.length - 1 && (
                        <button
                          type="button"
                          aria-label={`Move "${text}" to ${COLUMNS[nth + 1]}`}
                          onClick={() => move(id, COLUMNS[nth + 1]!)}
                        >
                          →
                        </button>
                      )}
                      <button
                        type="button"
                        aria-label={`Remove "${text}"`}
                        onClick={() => change(view.call("remove_task", { id }))}
                      >
                        ×
                      </button>
                    </div>
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
    </main>
  );
}

function draw(): void {
  const { result, cancelled } = view.state;
  const said = result?.content.find((block) => block.type === "text")?.text;
  const page =
    tasks !== undefined ? (
      <Board tasks={tasks} />
    ) : (
      <p>{cancelled !== undefined ? "It was cancelled." : result?.isError ? said : "…"}</p>
    );
  render(page, document.body);
}

view.show(({ result }) => {
  tasks = result?.structuredContent?.tasks ?? tasks;
  draw();
});
