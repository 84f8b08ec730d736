/** The shape of measured.json, which `npm run bench -- cost` writes. */

/** What the platform bills beside CPU time. */
export interface Billed {
  /** To the Worker. */
  requests: number;
  /** HTTP requests, RPC sessions and alarms of objects, and a twentieth of the WebSocket messages. */
  objectRequests: number;
  /** Of these: alarms that have rung, and those that are set, which ring later. */
  alarms: number;
  /** Wall time in which an object works or has a stream or a WebSocket open, in ms. */
  objectMs: number;
  rowsRead: number;
  rowsWritten: number;
  storedBytes: number;
  /** Workers that a Worker Loader has loaded, each for one call. */
  dynamicWorkers: number;
}

/** What one call uses. */
export interface CallUse extends Billed {
  cpuMs: number;
}

export interface Measured {
  /** The day, and the version of the package `agents`. */
  on: string;
  agents: string;
  /** By kind of call. */
  here: Record<string, CallUse>;
  agent: Record<string, CallUse>;
  /** CPU time in ms by kind of call, and memory of the process. */
  node: { cpuMs: Record<string, number>; memoryMB: number };
}
