/** Tries an entry in place: its form, progress, questions and result. */
import type { Json } from "../../core/model.ts";
import { render, useEffect, useRef, useState } from "hono/jsx/dom";
import { printableText } from "../../core/text.ts";
import { AskForm } from "./ask.tsx";
import { SchemaForm } from "./fields.tsx";
import type { PendingAsk, Listener, TimedMessage, CallProgress } from "./mcp.ts";
import { Messages, ResultView, Text } from "./results.tsx";
import { programsFor, type Callee } from "../programs.ts";
import {
  callTarget,
  callingOf,
  completionsOf,
  reasonOf,
  formSchemaOf,
  type Target,
} from "./targets.ts";
import { viewsIn } from "./view.ts";

/** How many messages and log lines of a call are shown: the newest. */
const SHOWN = 200;

/** How often changes are drawn, in ms: a call may send thousands of messages in a second. */
const DRAW_MS = 100;

/** A call and its state. */
interface Run {
  stop: AbortController;
  began: number;
  progress?: CallProgress;
  asked: PendingAsk[];
  log: string[];
  messages: TimedMessage[];
  ended?: { result: Json } | { error: string };
  ms?: number;
}

interface Tried {
  target: Target;
  /** Where this page calls its server. */
  address: string;
  /** The entry as programs call it. */
  callee: Callee;
}

/** Puts the form of an entry into the page, and below it the place for views. */
export function mountTry(place: HTMLElement, tried: Tried): void {
  const [form, below] = [document.createElement("div"), document.createElement("div")];
  place.append(form, below);
  render(<Try {...tried} views={viewsIn(below, tried)} />, form);
}

const Try = ({ target, address, callee, views }: Tried & { views: ReturnType<typeof viewsIn> }) => {
  const { kind, name } = target;
  const id = `try-${kind}-${encodeURIComponent(name)}`;
  const [schema, setSchema] = useState<Json | undefined>(undefined);
  const [failure, setFailure] = useState("");
  const [run, setRun] = useState<Run | undefined>(undefined);
  const [given, setGiven] = useState<Json>({});
  const now = useRef<Run | undefined>(undefined);
  const drawing = useRef<number | undefined>(undefined);

  useEffect(() => {
    formSchemaOf(target, address).then(setSchema, (error: unknown) => setFailure(reasonOf(error)));
  }, []);

  const update = (change: Partial<Run>) => {
    now.current = { ...now.current!, ...change };
    drawing.current ??= setTimeout(() => {
      drawing.current = undefined;
      setRun(now.current);
    }, DRAW_MS);
  };
  const start = (content: Json) => {
    setFailure("");
    setGiven(content);
    const stop = new AbortController();
    now.current = { stop, began: Date.now(), asked: [], log: [], messages: [] };
    setRun(now.current);
    const end = (ended: Run["ended"]) => {
      if (now.current?.stop === stop && ended)
        update({ ended, ms: Date.now() - now.current.began, asked: [] });
    };
    const listener: Listener = {
      onMessage: (message) =>
        update({ messages: [...now.current!.messages, message].slice(-SHOWN) }),
      onLog: ({ level, data }) => {
        const line = typeof data === "string" ? data : JSON.stringify(data);
        update({ log: [...now.current!.log, `${String(level)}: ${line}`].slice(-SHOWN) });
      },
      async onAsk(asked) {
        if (await views.isAnswered(asked, listener)) return;
        if (now.current?.stop === stop && !asked.signal.aborted)
          update({ asked: [...now.current.asked, asked] });
      },
    };
    const onprogress = (progress: CallProgress) => update({ progress });
    const during = { listener, signal: stop.signal, onprogress };
    const outcome = callTarget(target, address, { content, ...during }).catch((error: unknown) => {
      throw stop.signal.aborted ? new Error("Cancelled.") : error;
    });
    if (kind === "tool") views.show({ input: content, outcome, listener });
    outcome.then(
      (result) => end({ result: result as Json }),
      (error: unknown) => end({ error: reasonOf(error) }),
    );
  };
  const answer = (asked: PendingAsk, result: Json) => {
    asked.answer(result);
    update({ asked: now.current!.asked.filter((one) => one !== asked) });
  };

  const isBusy = run !== undefined && run.ended === undefined;
  return (
    <section class="try" aria-label={`Try ${name}`}>
      {failure !== "" && <Failure why={failure} />}
      {schema === undefined ? (
        failure === "" && <p role="status">Connecting …</p>
      ) : (
        <SchemaForm
          id={id}
          schema={schema}
          buttons={{
            run: { tool: "Run", prompt: "Get", resource: "Read", template: "Read" }[kind],
          }}
          isBusy={isBusy}
          onSubmit={(_button, content) => start(content)}
          onWrong={setFailure}
          complete={completionsOf(target, address, schema)}
        />
      )}
      {isBusy && <Running run={run} />}
      {run?.asked.map((asked, nth) => (
        <AskForm id={`${id}-ask-${nth}`} asked={asked} answer={(result) => answer(asked, result)} />
      ))}
      {run !== undefined && run.log.length > 0 && (
        <>
          <h4>Log</h4>
          <Text text={run.log.join("\n")} />
        </>
      )}
      {run?.ended !== undefined && <Ended run={run} />}
      {run !== undefined && <Messages messages={run.messages} />}
      {schema !== undefined && <Programs all={programsFor(callee, callingOf(target, given))} />}
    </section>
  );
};

const Failure = ({ why }: { why: string }) => (
  <div role="alert" class="notice wrong">
    <p class="text">{printableText(why.slice(0, 2000))}</p>
    {/401|sign in|Unauthorized/i.test(why) && (
      <p>
        <a href={`/sign-in?back=${encodeURIComponent(`/${location.hash}`)}`}>Sign in again</a>. You
        will return here.
      </p>
    )}
  </div>
);

const Running = ({ run }: { run: Run }) => {
  const { progress, stop } = run;
  const { progress: value = 0, total, message } = progress ?? {};
  return (
    <div>
      <p role="status">
        {run.asked.length > 0
          ? "Waiting for your answer."
          : `Running … ${printableText((message ?? "").slice(0, 500))}`}
      </p>
      {progress !== undefined && (
        <progress aria-label="Progress" {...(total ? { value, max: total } : {})} />
      )}
      <p class="acts">
        <button type="button" onClick={() => stop.abort()}>
          Cancel
        </button>
      </p>
    </div>
  );
};

const Ended = ({ run: { ended, ms } }: { run: Run }) =>
  ended && (
    <div>
      <p role="status" class="dim">
        {"result" in ended ? "Completed" : "Failed"} after {ms} ms.
      </p>
      {"result" in ended ? <ResultView result={ended.result} /> : <Failure why={ended.error} />}
    </div>
  );

/** The call with its latest arguments, to copy as a program. */
const Programs = ({ all }: { all: Record<string, string> }) => {
  const [text, setText] = useState("");
  return (
    <details>
      <summary>Copy this call</summary>
      <p class="acts">
        {Object.entries(all).map(([language, code]) => (
          <button
            type="button"
            onClick={() => {
              setText(code);
              void navigator.clipboard?.writeText(code);
            }}
          >
            {language}
          </button>
        ))}
      </p>
      {text !== "" && (
        <>
          <p role="status" class="dim">
            Copied.
          </p>
          <Text text={text} />
        </>
      )}
    </details>
  );
};
