/**
 * The limits of the server, each with its reason. Sizes in bytes, times in milliseconds. This file has the limits that
 * several rooms of the kernel use; each other room or feature adds its own from its `limits.ts`.
 */

/** The limits of all rooms; each room declares its own. */
export interface Limits extends Shared {}

/** The limits in force. Only `configureLimits` changes them. */
export const limits = {} as Readonly<Limits>;

/**
 * Defaults of the limits that the variable `LIMITS` can change: those for which an operator can know a better number.
 */
export const publicLimits: Partial<Limits> = {};

/** Adds the limits of a room: those that `LIMITS` can change, and others. Returns them. */
export function addLimits<
  Public extends Record<keyof Public, number> = object,
  Internal extends Record<keyof Internal, number> = object,
>(room: { public?: Public; internal?: Internal }): Public & Internal {
  const own = { ...room.public, ...room.internal } as Public & Internal;
  Object.assign(publicLimits, room.public);
  // Earlier configuration wins: a room may be loaded late.
  Object.assign(limits, { ...own, ...limits });
  return own;
}

/** Changes limits: those set by `LIMITS`, and any in tests. */
export function configureLimits(others: Partial<Limits>): void {
  Object.assign(limits, others);
}

/** The memory that guests take in an isolate of Cloudflare, which has 128 MiB for everything. */
export const GUEST_MEMORY = {
  idleBytes: 32 * 1024 * 1024,
  idleInstances: 16,
  waitingBytes: 64 * 1024 * 1024,
  waitingBytesOfOne: 32 * 1024 * 1024,
};

/**
 * The same limits for a machine with `memory` bytes: those of Cloudflare up to 1 GiB, and four times as much from 2 GiB
 * on. Then more calls wait side by side without a new instance for each, and without being replayed.
 */
export function limitsOn(memory: number): typeof GUEST_MEMORY {
  const times = Math.min(Math.max(1, 3 * (memory / 1024 ** 3) - 2), 4);
  const more = Object.entries(GUEST_MEMORY).map(([name, one]) => [name, Math.floor(one * times)]);
  return Object.fromEntries(more) as typeof GUEST_MEMORY;
}

type Shared = typeof shared;
const shared = addLimits({
  public: {
    /** Size of a request. The official SDK has the same default, which fits an image or two in base64. */
    bodyBytes: 4 * 1024 * 1024,
    /**
     * Quotas of a whole IPv6 /48, in multiples of the quota of one caller. Providers give a home a /56 or a /48, and a
     * phone one network of a shared /48.
     */
    siteShares: 4,
    /**
     * Computing time of one run of a call, in units of about a nanosecond. The default is 0.4 to 3 seconds, during
     * which the isolate serves others only where the guest can be suspended.
     */
    guestFuel: 3_000_000_000,
    /** Total time that one call may wait for HTTP responses and in sleeps before it is suspended or ended. */
    waitMs: 5 * 60 * 1000,
    /** Timeout of an HTTP request of a servlet, redirects included. */
    httpMs: 60 * 1000,
    /** How long an isolate caches lists that a servlet computes at run time. */
    dynamicListMs: 30_000,
    /**
     * Calls on the page Calls, each stored for at most 30 days. A call takes 150 bytes, and 2 KB with the longest names
     * and error. At the limit, the oldest calls of the callers with the most calls are deleted.
     */
    loggedCalls: 10_000,
    /**
     * Files of one servlet in one scope, with 512 bytes for each file and 256 for each name. A Durable Object stores 10
     * GB.
     */
    fileBytes: 256 * 1024 * 1024,
    /** A longer call becomes a task, where the client supports tasks. */
    promoteAfterMs: 2000,
    /**
     * How long a client may take to answer a question of a call that waits: a user who is asked today may answer
     * tomorrow.
     */
    stateMs: 48 * 3_600_000,
    /** How long a task is stored after it was created. */
    taskMs: 7 * 86_400_000,
    /**
     * Keep-alive interval on the stream of a waiting call: shorter than the timeouts of clients and of proxies before
     * the server.
     */
    keepAliveMs: 5000,
  },
  internal: {
    /** Smaller responses fit into network buffers, so whether their clients have read them does not matter. */
    smallAnswer: 64 * 1024,
    /**
     * How long a client may take to send a body, or to read the next piece of a response: the largest takes half of it
     * at 1 Mbit/s.
     */
    bodyMs: 60_000,
    /** A body at an unknown path: only the id of a small JSON-RPC request is read. */
    strayBodyBytes: 4096,
    /** Nesting depth of a guest's output. Durable Object RPC fails on values nested more than a few thousand levels. */
    outputDepth: 256,
    /** Memory of one instance, guest and kernel each. An isolate has 128 MiB for everything. */
    memoryBytes: 64 * 1024 * 1024,
    /** Fuel for a second of a manifest's `compute_limit`. */
    fuelPerSecond: 1_000_000_000,
    /** Delay before a task that found no room runs again, plus a random delay of up to as much. */
    shortageMs: 5000,
    /**
     * The longest such delay, before the random part: it grows while there is no room, as each run opens the task's
     * record.
     */
    maxShortageMs: 60_000,
    /**
     * Host memory of one call: its journal, variables, notifications. Two of the largest HTTP responses, and a little
     * more. Together with values that are being decoded, sealed or read (messages, `httpBytes`, `outputBytes`,
     * `bodyBytes`) a request costs 64 MB at most, measured.
     */
    hostBytes: 17 * 1024 * 1024,
    /** Cost of a journal entry or a variable beyond its text. */
    entryBytes: 256,
    /** A guest's output, counted like a body. Parsing and serializing it takes ten times as much memory. */
    outputBytes: 4 * 1024 * 1024,
    /** Structured content that is repeated as text if its servlet has not done so: a model reads far less. */
    repeatedCharacters: 1024 * 1024,
    /** The error message of a servlet: a model reads it. */
    errorCharacters: 16 * 1024,
    /** A path of a file, in bytes: PATH_MAX of Linux. */
    filePathBytes: 4096,
    /** Files and folders that one guest has open: the usual limit of a process. Each takes some 300 bytes. */
    openFiles: 1024,
    /** Stored memory and variables of a servlet in one scope: as much as one instance may have. */
    stateBytes: 64 * 1024 * 1024,
    /** Bytes of the endings that one scope keeps for tasks whose object died before it received them. */
    endingBytes: 64 * 1024 * 1024,
    /** Memory of all idle instances of one isolate; one larger instance is kept in addition. */
    idleBytes: GUEST_MEMORY.idleBytes,
    /** Text of a servlet in a task's status message, which each poll repeats; the rest is cut off. */
    statusCharacters: 500,
    /**
     * A longer call of a client that accepts no stream, and so receives nothing until it ends, continues without the
     * client if it can: the client gets a link. Clients give up a request after a minute, some after half a minute.
     */
    silentMs: 25_000,
    /**
     * A call that cannot continue without its client, or is in the middle of an operation, is stopped after this time.
     */
    silentEndMs: 45_000,
    /** A longer sleep of a task holds no memory: an alarm wakes it. */
    sleepInPlaceMs: 5000,
    /** How late an alarm may fire. A later one is considered lost, and is set again when its object is read. */
    lateAlarmMs: 5000,
    /**
     * How far a machine's clock may go back, compared with other clocks, before pending alarms and deadlines are moved
     * forward: they would come that much later.
     */
    clockSlackMs: 60_000,
    /** Input rounds of one call: a servlet that asks in an endless loop ends here. */
    inputRounds: 100,
    /** Texts of a client's answer to one request: an image or two in base64. They are stored, sealed and replayed. */
    answerBytes: 4 * 1024 * 1024,
    /** Keep-alive interval on a stream: only a write detects that the client has gone. */
    listenKeepAliveMs: 15_000,
    /** How long one stream of a waiting call stays open before its client reconnects. */
    callStreamMs: 5 * 60_000,
    /** Reconnection delay of a client whose stream has ended, at least. */
    retryMs: 1000,
    /** Lifetime of an issuer's cached keys. */
    keySetMs: 10 * 60_000,
    /** Timeout of a request to an issuer, or for a client's metadata document. */
    issuerMs: 5000,
    /** Size of an issuer's metadata or key set. */
    issuerBytes: 256 * 1024,
    /** A client's name, or another foreign text on the sign-in page; the rest is cut off. */
    pageCharacters: 500,
    /** Questions shown to a person on pages: nobody reads more. Larger ones fail, as if nobody could be asked. */
    shownAskBytes: 512 * 1024,
    /** How long a call waits for the page that its user has opened, before it asks again. */
    pageMs: 25_000,
    /** Calls and sessions that a person's console lists: 1.5 MB of memory and disk at most. */
    listedCalls: 1000,
    /** Event streams of one person's console: one for each open window. */
    consoleStreams: 20,
    /** Entries and changes of a call that its timeline shows. */
    shownEntries: 200,
    /** How long an isolate collects counts before it sends them. */
    usageMs: 10_000,
    /** A URL that a guest requests or a client reads: a common limit of servers. */
    urlCharacters: 8 * 1024,
    /** How long the exporter waits for a collector's response. */
    exportMs: 10_000,
    /** Extism variables of one call, keys and values together. The reference host allows as much. */
    varBytes: 1024 * 1024,
    /** One log line of a guest; the rest is cut off. */
    logCharacters: 4000,
    /** Progress and log notifications of one call. */
    notifications: 10_000,
    /**
     * Steps of checking a value against a schema, or a text against patterns: about half a second, during which the
     * isolate serves no other request. The largest body takes some steps for each member and character.
     */
    checkSteps: 5_000_000,
    /** Issues reported for one value: people read the first few. */
    checkIssues: 20,
    /** A text with a format, such as an e-mail address or a URI. */
    formatCharacters: 8 * 1024,
    /** A URI template: hand-written templates have some hundred characters. */
    templateCharacters: 2000,
    /** States of all patterns in one schema, with repetitions expanded. */
    patternSizes: 50_000,
    /** Parts of a tool's schema after inlining its references: schemas with shared parts grow exponentially. */
    inlinedParts: 5000,
    /** A `call_id`, and other ids that a client chooses: a UUID has 36. */
    idCharacters: 256,
    /** A secret or token of a call: private keys have 4 KB at most, tokens up to `tokenCharacters`. */
    secretCharacters: 16 * 1024,
    /** The document of one view: clients fetch it before they show anything. */
    viewBytes: 1024 * 1024,
    /** Types of events of one servlet: each is an entry of lists that models read. */
    eventTypes: 100,
    /** Schedules in one manifest: as many as a caller may have. */
    declaredSchedules: 100,
    /** Waiting tasks recorded for operators. */
    waitingTasks: 10_000,
  },
});
