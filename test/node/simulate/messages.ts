import type { Actor, Scheduler } from "./scheduler.ts";

export const LOST = "Network connection lost.";

/** How messages leave. */
interface Post {
  scheduler: Scheduler;
  /** Lets something leave an actor: from an object, when all that it has written is confirmed. */
  leave(actor: Actor, go: () => void): void;
}

/** Messages that arrive in the order in which they were sent. */
export class Line {
  readonly #scheduler: Scheduler;
  readonly #to: () => Actor | undefined;
  readonly #waiting: { what: string; run: () => void }[] = [];
  #isBusy = false;

  constructor(scheduler: Scheduler, to: () => Actor | undefined) {
    this.#scheduler = scheduler;
    this.#to = to;
  }

  send(what: string, run: () => void): void {
    this.#waiting.push({ what, run });
    this.#next();
  }

  #next(): void {
    if (this.#isBusy) return;
    const message = this.#waiting.shift();
    if (message === undefined) return;
    this.#isBusy = true;
    this.#scheduler.after(this.#scheduler.latency(), message.what, this.#to, () => {
      this.#isBusy = false;
      message.run();
      this.#next();
    });
  }
}

/** A value as another actor gets it: a copy, or a stream that goes on. */
export function transferred(value: unknown, from: Actor, to: Actor, post: Post): unknown {
  if (value instanceof Response) {
    const { status, headers } = value;
    const body = value.body === null ? null : streamed(value.body, from, lineTo(to, post));
    return new Response(body, { status, headers });
  }
  if (value instanceof ReadableStream) return streamed(value, from, lineTo(to, post));
  return structuredClone(value);
}

/** Where the chunks of a stream arrive: the actor may be known only when the first does. */
interface Destination {
  scheduler: Scheduler;
  line: Line;
  to: () => Actor | undefined;
}

const lineTo = (actor: Actor, { scheduler }: Post): Destination => {
  const to = () => actor;
  return { scheduler, line: new Line(scheduler, to), to };
};

/**
 * The stream on its way to another actor. Its chunks leave at once: workerd sends the bytes of a stream that is written
 * in JavaScript before what the object has stored is confirmed.
 */
export function streamed(
  source: ReadableStream<Uint8Array>,
  from: Actor,
  { scheduler, line, to }: Destination,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let isOver = false;
  let broke: (reason: unknown) => void = () => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const end = (how: () => void) => {
          if (isOver) return;
          isOver = true;
          from.pending.delete(broke);
          how();
        };
        // As the source's actor ends, its reader learns of it a little later.
        broke = () =>
          line.send("the stream breaks", () => end(() => controller.error(new Error(LOST))));
        from.pending.add(broke);
        const pump = async (): Promise<void> => {
          for (;;) {
            const { done, value } = await reader.read();
            if (!from.isAlive) return;
            line.send(done ? "the stream ends" : "a chunk", () => {
              if (!isOver) bind();
              if (isOver) return;
              if (done) end(() => controller.close());
              else controller.enqueue(value);
            });
            if (done) return;
          }
        };
        pump().catch((error: unknown) =>
          line.send("the stream fails", () => end(() => controller.error(error))),
        );
      },
      cancel: (reason) => {
        isOver = true;
        from.pending.delete(broke);
        scheduler.after(scheduler.latency(), "a stream's reader has gone", from, () => {
          void reader.cancel(reason).catch(() => {});
        });
      },
    },
    { highWaterMark: 0 },
  );
  // Where its reader dies, the source learns of it too.
  let reached: Actor | undefined;
  const bind = () => {
    if (reached === undefined) to()?.pending.add(gone);
    reached ??= to();
    if (reached === undefined || reached !== to()) gone();
  };
  const gone = () => {
    if (isOver) return;
    isOver = true;
    from.pending.delete(broke);
    if (from.isAlive) {
      scheduler.after(scheduler.latency(), "a stream's reader has died", from, () => {
        void reader.cancel(new Error(LOST)).catch(() => {});
      });
    }
  };
  reached = to();
  reached?.pending.add(gone);
  return stream;
}
