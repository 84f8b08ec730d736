/** A tried entry on the page: its form, progress, questions and result. */
import { createPortal, render, useState } from "hono/jsx/dom";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { printableText } from "../server/kernel/core/text.ts";
import { programsFor, type Callee } from "../server/features/console/programs.ts";
import { durationOf } from "../server/kernel/core/times.ts";
import { AskForm } from "./ask.tsx";
import { SchemaForm } from "./fields.tsx";
import { keptContent, wrongFrom } from "./form.ts";
import { Messages, ResultView, Text, type Read } from "./results.tsx";
import { callingOf, completionsOf, readLinked, type Failure, type Target } from "./targets.ts";
import { showTime } from "./times.ts";
import { keepTry, linkTo, triesOf, type TriedCall } from "./tries.ts";
import { useTryForm } from "./try-form.ts";
import { isFailed, STOPPED, useTryRun, type TryRun, type TryEnd } from "./try-run.ts";
import { viewsIn } from "./view.ts";

interface TryContext {
  target: Target;
  /** The URL of the MCP endpoint. */
  address: string;
  /** The entry as generated programs call it. */
  callee: Callee;
  /** Called once the form is shown or has failed to load. */
  onReady(): void;
}

const div = (): HTMLElement => document.createElement("div");

/** Renders the form of an entry. Views and results are below it or, on a wide screen, beside it. */
export function mountTry(place: HTMLElement, tried: TryContext): void {
  const [form, results, view, below] = [div(), div(), div(), div()] as const;
  place.className = "place try";
  results.className = "results";
  results.append(view, below);
  place.append(form, results);
  render(<Try {...tried} views={viewsIn(view, tried)} below={below} />, form);
}

interface Parts extends TryContext {
  views: ReturnType<typeof viewsIn>;
  below: HTMLElement;
}

const Try = ({ target, address, callee, onReady, views, below }: Parts) => {
  const { kind, name } = target;
  const id = `try-${kind}-${encodeURIComponent(name)}`;
  const form = useTryForm(target, address, onReady);
  const onEndDrawn = () => showEnd(below);
  const { run, ...call } = useTryRun({ target, address, views, onEndDrawn });
  const isBusy = run !== undefined && run.ended === undefined;
  const [tries, setTries] = useState<readonly TriedCall[]>(() => triesOf(target));
  const { schema, failure, content, beginning, hasFields } = form;

  const submit = async (sent: Json) => {
    const given = await form.submitted(sent);
    if (given === undefined) return call.hide();
    form.called(given);
    call.start(given, (ended, tried) => {
      if ("result" in ended && isFailed(ended.result))
        form.setWrong(wrongFrom(textOf(ended.result)));
      setTries(keepTry(target, { ...tried, content: keptContent(schema!, given) }));
    });
  };
  return (
    <section aria-label="Try it" ref={form.place}>
      {failure !== undefined && <FailureView failure={failure} />}
      {schema === undefined
        ? failure === undefined && <p role="status">Loading …</p>
        : [
            <SchemaForm
              key={`form-${beginning.version}`}
              id={id}
              schema={form.fields.schema!}
              given={form.fields.given}
              wrong={form.wrong}
              buttons={{
                run: { tool: "Run", prompt: "Get", resource: "Read", template: "Read" }[kind],
              }}
              isBusy={isBusy}
              onSubmit={(_button, sent) => void submit(sent)}
              onRefused={call.hide}
              complete={completionsOf(target, address, schema)}
              send={form.send}
            >
              {(hasFields || beginning.isJson) && (
                <button type="button" onClick={() => void form.fillIn()}>
                  Fill in an example
                </button>
              )}
              {kind === "tool" && hasFields && (
                <button type="button" onClick={form.changeWay}>
                  {beginning.isJson ? "Use fields" : "Edit as JSON"}
                </button>
              )}
            </SchemaForm>,
          ]}
      {isBusy && <Running run={run} />}
      {run?.asked.map((asked, nth) => (
        <AskForm
          id={`${id}-ask-${nth}`}
          asked={asked}
          answer={(result) => call.answer(asked, result)}
        />
      ))}
      {createPortal(
        <>
          {run?.ended !== undefined && (
            <Ended
              ended={run.ended}
              ms={run.ms ?? 0}
              read={(uri) => readLinked(target, address, uri)}
              here={linkTo(target, keptContent(schema!, content))}
            />
          )}
          {run !== undefined && run.log.length > 0 && (
            <>
              <h2>Log</h2>
              <Text text={run.log.join("\n")} />
            </>
          )}
          {schema !== undefined && (
            <div class="more">
              {run !== undefined && <Messages messages={run.messages} />}
              <Programs
                all={programsFor(callee, callingOf(target, content))}
                link={() => linkTo(target, keptContent(schema, form.entered().content))}
              />
              <Tries tries={tries} fill={(one) => form.begin(one)} />
            </div>
          )}
        </>,
        below,
      )}
    </section>
  );
};

/** The text content of a result. */
const textOf = ({ content }: Json): string =>
  (Array.isArray(content) ? content : [])
    .flatMap((one) => (isObject(one) && typeof one["text"] === "string" ? [one["text"]] : []))
    .join("\n");

/** Scrolls to the start of a result, unless it is beside the form. */
function showEnd(below: HTMLElement): void {
  const { top } = below.getBoundingClientRect();
  if (top > innerHeight - ROOM_PX) below.scrollIntoView({ block: "start" });
}
const ROOM_PX = 120;

const FailureView = ({ failure, here }: { failure: Failure; here?: string | undefined }) => {
  const { title, why, advice, mustSignIn } = failure;
  const { pathname, search, hash } = new URL(here ?? location.href);
  return (
    <div role="alert" class="notice wrong">
      <p>
        <strong>{title}</strong>
      </p>
      <p class="text">{printableText(why.slice(0, 2000))}</p>
      {advice !== undefined && <p>{advice}</p>}
      {mustSignIn && (
        <p>
          {/* The fragment contains the arguments. The browser preserves it, and the server does not receive it. */}
          <a href={`/sign-in?back=${encodeURIComponent(pathname + search)}${hash}`}>
            Sign in again
          </a>
          . You will return here.
        </p>
      )}
    </div>
  );
};

const Running = ({ run }: { run: TryRun }) => {
  const { progress, stop } = run;
  const { progress: value = 0, total, message } = progress ?? {};
  const share = total ? ` ${value} of ${total}.` : "";
  return (
    <div class="running">
      <p role="status">
        {run.open.length > 0
          ? "Waiting for your answer."
          : `Running …${share} ${printableText((message ?? "").slice(0, 500))}`}
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

const Ended = ({
  ended,
  ms,
  read,
  here,
}: {
  ended: TryEnd;
  ms: number;
  read: Read;
  /** The address of this page with the call's arguments in its fragment. */
  here: string | undefined;
}) => {
  const call = "result" in ended ? callIn(ended.result) : undefined;
  return (
    <div class="result">
      <h2>Result</h2>
      <p role="status" class="dim small">
        {"result" in ended ? "Completed" : ended.failure === STOPPED ? "Cancelled" : "Failed"} after{" "}
        {durationOf(ms)}.
      </p>
      {call !== undefined && (
        <p class="notice">
          This call waits. <a href={call}>Open its page</a> to answer it and to follow it.
        </p>
      )}
      {"result" in ended ? (
        <ResultView result={ended.result} read={read} />
      ) : (
        <FailureView failure={ended.failure} here={here} />
      )}
    </div>
  );
};

/** The page of a call that was handed to people, if the result contains its address. */
function callIn(result: Json): string | undefined {
  const [, id] = /\/ask\/([\w-]{8,})/.exec(textOf(result).slice(0, 10_000)) ?? [];
  if (id === undefined || !textOf(result).includes(`${location.origin}/ask/${id}`))
    return undefined;
  const hasLive = document.querySelector('header a[href="/console/live"]') !== null;
  return hasLive ? `/console/live/${id}` : `/ask/${id}`;
}

/** Earlier calls in this window. */
const Tries = ({ tries, fill }: { tries: readonly TriedCall[]; fill(content: Json): void }) =>
  tries.length === 0 ? null : (
    <details class="tries">
      <summary>Your tries ({tries.length})</summary>
      <ul>
        {tries.map(({ at, ms, outcome, content }) => (
          <li key={String(at)}>
            <span>
              <Time at={at} />, {outcome}, {durationOf(ms)}
              <code>{printableText(JSON.stringify(content).slice(0, 200))}</code>
            </span>
            <button type="button" onClick={() => fill(content)}>
              Fill in again
            </button>
          </li>
        ))}
      </ul>
    </details>
  );

const Time = ({ at }: { at: number }) => (
  <time
    dateTime={new Date(at).toISOString()}
    ref={(one: HTMLTimeElement | null) => {
      if (one) showTime(one);
    }}
  />
);

/** Programs that repeat the latest call, to copy. */
const Programs = ({ all, link }: { all: Record<string, string>; link(): string | undefined }) => {
  const [text, setText] = useState("");
  const copy = (code: string) => {
    setText(code);
    void navigator.clipboard?.writeText(code);
  };
  return (
    <details>
      <summary>Copy this call</summary>
      <p class="acts">
        {Object.entries(all).map(([language, code]) => (
          <button type="button" onClick={() => copy(code)}>
            {language}
          </button>
        ))}
        <button
          type="button"
          onClick={() => {
            const url = link();
            if (url === undefined) setText(TOO_LONG);
            else copy(url);
          }}
        >
          Link with these arguments
        </button>
      </p>
      {text !== "" && (
        <>
          <p role="status" class="dim">
            {text === TOO_LONG ? TOO_LONG : "Copied."}
          </p>
          {text !== TOO_LONG && <Text text={text} />}
        </>
      )}
    </details>
  );
};

const TOO_LONG = "These arguments are too long for a link. Copy a program instead.";
