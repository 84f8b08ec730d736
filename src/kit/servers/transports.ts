/** Transports of the official SDK: they send nothing; `connect` registers the server. */
import type { Json } from "./registry.ts";

/** A transport without effect. */
class Transport {
  sessionId: string | undefined;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: ((message: unknown) => void) | undefined;

  async start(): Promise<void> {}
  async close(): Promise<void> {}
  async send(_message: Json): Promise<void> {}
  async handleRequest(..._given: unknown[]): Promise<Response> {
    return new Response();
  }
  async handlePostMessage(..._given: unknown[]): Promise<void> {}
  async handleMessage(..._given: unknown[]): Promise<void> {}
}

export class StdioServerTransport extends Transport {}
export class StreamableHTTPServerTransport extends Transport {}
export class NodeStreamableHTTPServerTransport extends Transport {}
export class WebStandardStreamableHTTPServerTransport extends Transport {}
export class PerRequestHTTPServerTransport extends Transport {}
export class SSEServerTransport extends Transport {}
export class WorkerTransport extends Transport {}

export class InMemoryTransport extends Transport {
  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    return [new InMemoryTransport(), new InMemoryTransport()];
  }
}
