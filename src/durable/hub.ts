import { DurableObject } from "cloudflare:workers";
import { limits } from "../limits.ts";
import { eventText } from "../mcp/reply.ts";
import { tagged, wants, type Hub as Streams, type Subscription } from "../mcp/subscription.ts";
import type { Notification } from "../model.ts";

/**
 * The open streams of one principal. Nothing is stored: a client whose stream ends listens again, and
 * a hub without streams holds nothing.
 */
export class Hub extends DurableObject implements Streams {
  readonly #streams = new Set<Stream>();

  async listen(subscription: Subscription): Promise<ReadableStream<Uint8Array> | null> {
    if (this.#streams.size >= limits.listenStreams) {
      // Those whose client has gone make room for the next try.
      for (const stream of this.#streams) stream.showLife();
      return null;
    }
    const stream = new Stream(subscription, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return stream.body;
  }

  async publish(notifications: Notification[]): Promise<void> {
    for (const stream of this.#streams) {
      for (const notification of notifications) stream.tell(notification);
    }
  }
}

/** A stream until it is over: by the end of its life, by its client, or for that is too slow. */
class Stream {
  /** Of bytes, since such can leave the object. Written to, it learns that its client has gone. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #subscription: Subscription;
  readonly #over: () => void;
  #controller: ReadableByteStreamController | undefined;

  constructor(subscription: Subscription, onOver: () => void) {
    const signs = setInterval(() => this.showLife(), limits.listenKeepAliveMs);
    const life = setTimeout(() => this.#end(), subscription.lifeMs);
    this.#subscription = subscription;
    this.#over = () => {
      clearInterval(signs);
      clearTimeout(life);
      this.#controller = undefined;
      onOver();
    };
    this.body = new ReadableStream({
      type: "bytes",
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => this.#over(),
    });
    this.#write(eventText(subscription.opening));
  }

  tell(notification: Notification): void {
    const { filter, id } = this.#subscription;
    if (wants(filter, notification)) this.#write(eventText(tagged(notification, id)));
  }

  showLife(): void {
    this.#write(": listening\n\n");
  }

  #end(): void {
    this.#write(eventText(this.#subscription.ending));
    this.#controller?.close();
    this.#over();
  }

  #write(text: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    // What waits is what the size desired is short of none.
    if (-(controller.desiredSize ?? 0) > limits.listenBacklogBytes) {
      controller.error(new Error("The client reads too slowly."));
      this.#over();
    } else {
      controller.enqueue(encoder.encode(text));
    }
  }
}

const encoder = new TextEncoder();
