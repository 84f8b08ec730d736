/** A call of a tried entry, running or ended: its messages, log, questions and result. */
import { useRef, useState } from "hono/jsx/dom";
import type { Json } from "../server/kernel/core/model.ts";
import type { CallProgress, Listener, PendingAsk, TimedMessage } from "./mcp.ts";
import { callTarget, failureIn, type Failure, type Target } from "./targets.ts";
import type { TriedCall } from "./tries.ts";
import type { viewsIn } from "./view.ts";

/** Maximum number of messages and of log lines shown: the newest. */
const SHOWN = 200;

/** Interval between renders, in ms: a call may send thousands of messages per second. */
const DRAW_MS = 100;

/** A call and its state. */
export interface TryRun {
  stop: AbortController;
  began: number;
  progress?: CallProgress;
  /** The open questions. */
  open: PendingAsk[];
  /** The open questions that are answered in a form here, not in a view. */
  asked: PendingAsk[];
  log: string[];
  messages: TimedMessage[];
  ended?: TryEnd;
  ms?: number;
}

export type TryEnd = { result: Json } | { failure: Failure };

/** The failure of a call that the user has cancelled. */
export const STOPPED: Failure = {
  title: "You have cancelled this call",
  why: "What it had done before stays done.",
};

interface TryRunParts {
  target: Target;
  /** The URL of the MCP endpoint. */
  address: string;
  views: ReturnType<typeof viewsIn>;
  /** Called after each render of an ended call. */
  onEndDrawn(): void;
}

/** The page's latest call as last rendered; undefined if there is none or its result is hidden. */
export function useTryRun({ target, address, views, onEndDrawn }: TryRunParts) {
  const [run, setRun] = useState<TryRun | undefined>(undefined);
  const now = useRef<TryRun | undefined>(undefined);
  const drawing = useRef<number | undefined>(undefined);

  const show = (latest: TryRun | undefined) => {
    now.current = latest;
    setRun(latest);
  };
  const update = (changeOf: (run: TryRun) => Partial<TryRun>) => {
    // Completions and views send messages even after the result is hidden.
    if (now.current === undefined) return;
    now.current = { ...now.current, ...changeOf(now.current) };
    drawing.current ??= setTimeout(() => {
      drawing.current = undefined;
      setRun(now.current);
      if (now.current?.ended !== undefined) requestAnimationFrame(onEndDrawn);
    }, DRAW_MS);
  };
  const close = (asked: PendingAsk) => {
    const others = (all: readonly PendingAsk[]) => all.filter((one) => one !== asked);
    update((latest) => ({ open: others(latest.open), asked: others(latest.asked) }));
  };
  const listenerOf = ({ stop }: TryRun): Listener => {
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
    return listener;
  };

  return {
    run,
    /** Calls the entry with this content. `onEnd` is not called if another call has started before the end. */
    start(content: Json, onEnd: (ended: TryEnd, call: TriedCall) => void): void {
      const stop = new AbortController();
      const { signal } = stop;
      const began = Date.now();
      const begun: TryRun = { stop, began, open: [], asked: [], log: [], messages: [] };
      show(begun);
      const end = (outcome: TriedCall["outcome"], ended: TryEnd) => {
        if (now.current?.stop !== stop) return;
        const at = Date.now();
        const ms = at - began;
        update(() => ({ ended, ms, open: [], asked: [] }));
        onEnd(ended, { at, ms, outcome, content });
      };
      const listener = listenerOf(begun);
      const onprogress = (progress: CallProgress) => update(() => ({ progress }));
      const during = { listener, signal, onprogress };
      const outcome = callTarget(target, address, { content, ...during }).catch(
        (error: unknown) => {
          throw signal.aborted ? new Error("Cancelled.") : error;
        },
      );
      if (target.kind === "tool") views.show({ input: content, outcome, listener });
      outcome.then(
        (result) =>
          end(isFailed(result as Json) ? "failed" : "completed", { result: result as Json }),
        (error: unknown) =>
          signal.aborted
            ? end("cancelled", { failure: STOPPED })
            : end("failed", { failure: failureIn(error) }),
      );
    },
    answer(asked: PendingAsk, result: Json): void {
      asked.answer(result);
      close(asked);
    },
    /** Hides the result of an ended call. */
    hide(): void {
      if (now.current?.ended !== undefined) show(undefined);
    },
  };
}

/** True for the result of a tool that reports an error. */
export const isFailed = (result: Json): boolean => result["isError"] === true;
