/** Tries an entry in place: its form, progress, questions and result. */
import { createPortal, render, useEffect, useRef, useState } from "hono/jsx/dom";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { printableText } from "../server/kernel/core/text.ts";
import { programsFor, type Callee } from "../server/features/console/programs.ts";
import { durationOf } from "../server/kernel/core/times.ts";
import { AskForm } from "./ask.tsx";
import { SchemaForm } from "./fields.tsx";
import {
  changeByFields,
  contentIn,
  contentOfFields,
  formPartsOf,
  hasNoFields,
  keptContent,
  withEntered,
  wrongFrom,
  type Wrong,
} from "./form.ts";
import type { PendingAsk, Listener, TimedMessage, CallProgress } from "./mcp.ts";
import { Messages, ResultView, Text, type Read } from "./results.tsx";
import {
  callTarget,
  callingOf,
  completionsOf,
  failureIn,
  formSchemaOf,
  readLinked,
  type Failure,
  type Target,
} from "./targets.ts";
import { showTime } from "./times.ts";
import { keepTry, linkedContent, linkTo, triesOf, type TriedCall } from "./tries.ts";
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
  /** Its open questions, and those of them that have a form here instead of a view. */
  open: PendingAsk[];
  asked: PendingAsk[];
  log: string[];
  messages: TimedMessage[];
  ended?: { result: Json } | { failure: Failure };
  ms?: number;
}

interface TryContext {
  target: Target;
  /** Where this page calls its server. */
  address: string;
  /** The entry as programs call it. */
  callee: Callee;
  /** Called once the form is there, or why there is none. */
  onReady(): void;
}

const div = (): HTMLElement => document.createElement("div");

/** Renders the form of an entry, with views and results below it or, on a wide screen, beside it. */
export function mountTry(place: HTMLElement, tried: TryContext): void {
  const [form, results, view, below] = [div(), div(), div(), div()] as const;
  place.className = "place try";
  results.className = "results";
  results.append(view, below);
  place.append(form, results);
  render(<Try {...tried} views={viewsIn(view, tried)} below={below} />, form);
}

/** The content with which a form begins; a later version replaces the form. */
interface Beginning {
  version: number;
  given: Json | undefined;
  /** True where all of it is one text. */
  isJson: boolean;
}

const NOTHING: Beginning = { version: 0, given: undefined, isJson: false };

interface Parts extends TryContext {
  views: ReturnType<typeof viewsIn>;
  below: HTMLElement;
}

const Try = ({ target, address, callee, onReady, views, below }: Parts) => {
  const { kind, name } = target;
  const id = `try-${kind}-${encodeURIComponent(name)}`;
  const [schema, setSchema] = useState<Json | undefined>(undefined);
  const [failure, setFailure] = useState<Failure | undefined>(undefined);
  const [beginning, setBeginning] = useState<Beginning>(NOTHING);
  const [run, setRun] = useState<Run | undefined>(undefined);
  const [content, setContent] = useState<Json>({});
  const [wrong, setWrong] = useState<readonly Wrong[]>([]);
  const [tries, setTries] = useState<readonly TriedCall[]>(() => triesOf(target));
  const now = useRef<Run | undefined>(undefined);
  const drawing = useRef<number | undefined>(undefined);
  const place = useRef<HTMLElement | null>(null);

  const parts = schema === undefined ? [] : formPartsOf(schema);
  const begin = (given: Json | undefined, known: Json, isJson = false) => {
    const change = given && !isJson ? changeByFields(formPartsOf(known), given) : undefined;
    setWrong(change === undefined ? [] : [aboutChange(change)]);
    const version = beginning.version + 1;
    setBeginning({ version, given, isJson: isJson || change !== undefined });
  };
  useEffect(() => {
    const ready = (known: Json) => {
      begin(linkedContent(), known, hasNoFields(known));
      setSchema(known);
    };
    formSchemaOf(target, address).then(ready, (error: unknown) => setFailure(failureIn(error)));
  }, []);
  useEffect(() => {
    if (schema !== undefined || failure !== undefined) onReady();
  }, [schema, failure]);

  const update = (changeOf: (run: Run) => Partial<Run>) => {
    // Completions and views send messages also after a result was hidden.
    if (now.current === undefined) return;
    now.current = { ...now.current, ...changeOf(now.current) };
    drawing.current ??= setTimeout(() => {
      drawing.current = undefined;
      setRun(now.current);
      if (now.current?.ended !== undefined) requestAnimationFrame(() => showEnd(below));
    }, DRAW_MS);
  };
  const close = (asked: PendingAsk) => {
    const others = (all: readonly PendingAsk[]) => all.filter((one) => one !== asked);
    update((latest) => ({ open: others(latest.open), asked: others(latest.asked) }));
  };
  const start = (given: Json) => {
    setFailure(undefined);
    setWrong([]);
    setContent(given);
    const stop = new AbortController();
    now.current = { stop, began: Date.now(), open: [], asked: [], log: [], messages: [] };
    setRun(now.current);
    const end = (ended: NonNullable<Run["ended"]>, outcome: TriedCall["outcome"]) => {
      if (now.current?.stop !== stop) return;
      const at = Date.now();
      const ms = at - now.current.began;
      update(() => ({ ended, ms, open: [], asked: [] }));
      const kept = keptContent(schema!, given);
      setTries(keepTry(target, { at, ms, outcome, content: kept }));
    };
    const listener: Listener = {
      onMessage: (message) =>
        update(({ messages }) => ({ messages: [...messages, message].slice(-SHOWN) })),
      onLog: ({ level, data }) => {
        const line = typeof data === "string" ? data : JSON.stringify(data);
        update(({ log }) => ({ log: [...log, `${String(level)}: ${line}`].slice(-SHOWN) }));
      },
      async onAsk(asked) {
        if (now.current?.stop !== stop) return;
        update(({ open }) => ({ open: [...open, asked] }));
        const isAnswered = await views.isAnswered(asked, listener);
        if (isAnswered || asked.signal.aborted) close(asked);
        else if (now.current?.stop === stop)
          update((latest) => ({ asked: [...latest.asked, asked] }));
      },
    };
    const onprogress = (progress: CallProgress) => update(() => ({ progress }));
    const during = { listener, signal: stop.signal, onprogress };
    const outcome = callTarget(target, address, { content: given, ...during }).catch(
      (error: unknown) => {
        throw stop.signal.aborted ? new Error("Cancelled.") : error;
      },
    );
    if (kind === "tool") views.show({ input: given, outcome, listener });
    const completed = (result: Json) => {
      const isError = result["isError"] === true;
      if (isError) setWrong(wrongFrom(textOf(result)));
      end({ result }, isError ? "failed" : "completed");
    };
    outcome.then(
      (ended) => completed(ended as Json),
      (error: unknown) =>
        stop.signal.aborted
          ? end({ failure: STOPPED }, "cancelled")
          : end({ failure: failureIn(error) }, "failed"),
    );
  };
  const answer = (asked: PendingAsk, result: Json) => {
    asked.answer(result);
    close(asked);
  };
  /** The content of the form now, as far as it can be read, and what cannot. */
  const typed = (): { content: Json; wrong: readonly Wrong[] } => {
    const form = place.current?.querySelector("form");
    if (!form || schema === undefined) return { content, wrong: [] };
    const of = beginning.isJson ? JSON_SCHEMA : schema;
    const read = contentIn(formPartsOf(of), new FormData(form));
    if (!beginning.isJson) return read;
    const { arguments: all = {} } = read.content;
    return isObject(all)
      ? { content: all, wrong: read.wrong }
      : { content: {}, wrong: [aboutAll("must be an object")] };
  };
  const submitted = async (given: Json) => {
    if (!beginning.isJson) return start(given);
    const { arguments: all = {} } = given;
    const checks = await import("./checks.ts").catch(() => undefined);
    const found = (isObject(all) && checks?.wrongIn(schema!, all)) || [];
    const inText = ({ path, message }: Wrong) =>
      aboutAll([path.join("."), message].filter(Boolean).join(" "));
    if (found.length === 0) return start(all as Json);
    setWrong(found.map(inText));
    hideResult();
  };
  const hideResult = () => {
    if (now.current?.ended === undefined) return;
    now.current = undefined;
    setRun(undefined);
  };

  const fillIn = async () => {
    const { content: given, wrong: unread } = typed();
    if (unread.length > 0) return setWrong(unread);
    const { exampleOf, wrongIn } = await import("./checks.ts");
    const example = exampleOf(schema!, true);
    if (example === undefined) return setWrong([NO_EXAMPLE]);
    const { isJson } = beginning;
    const filled = withEntered(example, given, { areEmptyKept: isJson });
    // Fields may change an example, as long as it stays valid.
    const shown = isJson ? filled : contentOfFields(parts, filled);
    begin(wrongIn(schema!, shown).length === 0 ? shown : filled, schema!, isJson);
  };

  /** Changes between fields and JSON, with the arguments as they are; where some would be lost, it says so. */
  const changeWay = () => {
    const { content: given, wrong: unread } = typed();
    if (unread.length > 0) return setWrong(unread);
    const change = beginning.isJson ? changeByFields(parts, given) : undefined;
    if (change !== undefined) return setWrong([aboutChange(change)]);
    begin(given, schema!, !beginning.isJson);
  };
  const isBusy = run !== undefined && run.ended === undefined;
  const hasFields = parts.length > 0;
  return (
    <section aria-label="Try it" ref={place}>
      {failure !== undefined && <FailureView failure={failure} />}
      {schema === undefined
        ? failure === undefined && <p role="status">Loading …</p>
        : [
            <SchemaForm
              key={`form-${beginning.version}`}
              id={id}
              schema={beginning.isJson ? JSON_SCHEMA : schema}
              given={beginning.isJson ? { arguments: beginning.given ?? {} } : beginning.given}
              wrong={wrong}
              buttons={{
                run: { tool: "Run", prompt: "Get", resource: "Read", template: "Read" }[kind],
              }}
              isBusy={isBusy}
              onSubmit={(_button, given) => void submitted(given)}
              onRefused={hideResult}
              complete={completionsOf(target, address, schema)}
            >
              {(hasFields || beginning.isJson) && (
                <button type="button" onClick={() => void fillIn()}>
                  Fill in an example
                </button>
              )}
              {kind === "tool" && hasFields && (
                <button type="button" onClick={changeWay}>
                  {beginning.isJson ? "Use fields" : "Edit as JSON"}
                </button>
              )}
            </SchemaForm>,
          ]}
      {isBusy && <Running run={run} />}
      {run?.asked.map((asked, nth) => (
        <AskForm id={`${id}-ask-${nth}`} asked={asked} answer={(result) => answer(asked, result)} />
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
                link={() => linkTo(target, keptContent(schema, typed().content))}
              />
              <Tries tries={tries} fill={(one) => begin(one, schema)} />
            </div>
          )}
        </>,
        below,
      )}
    </section>
  );
};

const STOPPED: Failure = {
  title: "You have cancelled this call",
  why: "What it had done before stays done.",
};

/** All arguments as one value. */
const JSON_SCHEMA: Json = {
  properties: { arguments: { title: "Arguments as JSON", type: "object" } },
  required: ["arguments"],
};

const aboutAll = (message: string): Wrong => ({ path: ["arguments"], message });

const NO_EXAMPLE: Wrong = {
  path: [],
  message: "No example was found: the schema has none that fits.",
};
const aboutChange = (change: string): Wrong =>
  aboutAll(`does not fit the fields: ${change}. Enter another value, or go on with JSON.`);

/** The texts of a result. */
const textOf = ({ content }: Json): string =>
  (Array.isArray(content) ? content : [])
    .flatMap((one) => (isObject(one) && typeof one["text"] === "string" ? [one["text"]] : []))
    .join("\n");

/** Scrolls to the beginning of a result; a result beside the form stays in place. */
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
          {/* The browser keeps the fragment, which has the arguments; the server does not get it. */}
          <a href={`/sign-in?back=${encodeURIComponent(pathname + search)}${hash}`}>
            Sign in again
          </a>
          . You will return here.
        </p>
      )}
    </div>
  );
};

const Running = ({ run }: { run: Run }) => {
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
  ended: NonNullable<Run["ended"]>;
  ms: number;
  read: Read;
  /** The address of this page with the arguments of the call. */
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

/** The page of a call that was handed over to people, as its result names it. */
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

/** The call with its latest arguments, to copy as a program. */
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
