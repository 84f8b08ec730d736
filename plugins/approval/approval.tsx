/** The question as a person decides it: what, by whom, until when; approve or reject, with a note. */
import { connect } from "edge-servlets/view";
import { render } from "preact";
import { useState } from "preact/hooks";
import type servlet from "./servlet.ts";
import "./approval.css";

const view = await connect<typeof servlet, "request_approval">({ name: "approval" });

/** What the user has decided here, and of which question: a client may ask again. */
let decided: { of: typeof view.state.question; as: "Approved" | "Rejected" } | undefined;

function Decision({ what, details }: { what: string; details: string }) {
  const [note, setNote] = useState("");
  const decide = (approve: boolean) => {
    decided = { of: view.state.question, as: approve ? "Approved" : "Rejected" };
    view.answer({ approve, ...(note.trim() !== "" && { note: note.trim() }) });
    draw();
  };
  return (
    <main>
      <h1>{what}</h1>
      <p class="details">{details}</p>
      <label>
        Note, such as a condition
        <textarea
          rows={3}
          maxLength={1000}
          value={note}
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </label>
      <div class="choice">
        <button type="button" class="yes" onClick={() => decide(true)}>
          Approve
        </button>
        <button type="button" onClick={() => decide(false)}>
          Reject
        </button>
      </div>
    </main>
  );
}

/** By whom it was asked, and until when it waits: what follows the first sentence on the choice. */
function detailsOf({ properties }: Record<string, unknown>): string {
  const { approve } = (properties ?? {}) as { approve?: { description?: string } };
  return (approve?.description ?? "").replace(/^[^.]*\. /, "");
}

function draw(): void {
  const { question, input, result, cancelled } = view.state;
  const outcome = result?.structuredContent;
  const said = result?.content.find((block) => block.type === "text")?.text;
  const matter = [input?.what, input?.amount && `(${input.amount})`].filter(Boolean).join(" ");
  const page =
    result !== undefined ? (
      <main>
        <h1>{outcome === undefined ? "No decision" : matter || "Decided"}</h1>
        <p class={outcome?.outcome}>{said}</p>
      </main>
    ) : cancelled !== undefined ? (
      <main>
        <h1>{matter || "Approval"}</h1>
        <p>It was cancelled.</p>
      </main>
    ) : decided !== undefined && decided.of === question ? (
      <main>
        <h1>{decided.as}</h1>
      </main>
    ) : question !== undefined ? (
      <Decision what={question.message} details={detailsOf(question.schema)} />
    ) : (
      <main>
        <h1>{matter || "Approval"}</h1>
        <p>Waits for an answer.</p>
      </main>
    );
  render(page, document.body);
}

view.show(draw);
