/** Every number that bounds something, with its reason. Sizes in bytes, times in milliseconds. */
export const limits = {
  /** A request's body. Large enough for a few images in base64, small enough to hold in memory twice. */
  bodyBytes: 8 * 1024 * 1024,
  /** How deep a body may be nested: arguments of tools are rarely deeper than ten. */
  bodyDepth: 64,
  /** Members and items of a body, all together. */
  bodyMembers: 200_000,
  /** Requests that one caller has in an isolate at once: others are to be served meanwhile. */
  concurrentCalls: 200,
  /** What one caller may call in a minute, all together and each tool; 0 is no bound, and asks nobody. */
  callsPerMinute: 0,
  toolCallsPerMinute: 0,
  /**
   * Sessions, tasks, states that their clients cannot carry, and calls with an id that are kept for one
   * caller in a day: most for an hour, none for longer than `taskMs` unless it is used, and none without
   * bounds of its own.
   */
  keptPerDay: 50_000,
  /** Messages in one legacy batch. */
  batchMessages: 50,
  /** Items on one page of a list: clients that never ask for a second page still see all of most servers. */
  pageItems: 500,
  /** Pages that a servlet's list may have before it is taken to be endless. */
  listPages: 100,
  /** How deep what a guest says may be nested: objects hand it to each other, which a depth of some thousands breaks. */
  outputDepth: 256,
  /** Memory of one instance, guest and kernel each. An isolate has 128 MiB for everything. */
  memoryBytes: 64 * 1024 * 1024,
  /**
   * Entries of all tables of one instance together: `memory_limit` does not bound them. V8 keeps 30 bytes
   * for a function's, twice that while a table grows, so this is 3 to 6 MB; compilers make an entry for
   * each function whose address is taken, of which large programs have some ten thousands.
   */
  tableEntries: 100_000,
  /** What a table takes besides, counted in entries: some 450 bytes. */
  tableOverhead: 16,
  /** Mutable globals of one servlet: each takes 150 bytes outside of its memory; compilers make about ten. */
  mutableGlobals: 10_000,
  /**
   * Values in one exception: 30 bytes and 15 ns each, outside of the guest's memory, for as long as it is
   * held. Compilers throw an address.
   */
  exceptionValues: 8,
  /**
   * What a guest may compute in one run of a call, in units of about a nanosecond: five to ten seconds.
   * Its isolate serves nobody else meanwhile, and a Worker's request may by default compute for 30.
   */
  guestFuel: 10_000_000_000,
  fuelPerSecond: 1_000_000_000,
  /** What of it a host function costs, and one that suspends the guest or throws. */
  hostCallFuel: 800,
  slowCallFuel: 2000,
  /** What a host function costs besides whose answer goes into the journal: it is hashed there. */
  answerFuel: 3000,
  /** The same for each vector of bytes that a guest writes through WASI. */
  vectorFuel: 300,
  /** The same for each byte that the host reads or writes for a guest, and each that it makes up. */
  byteFuel: 8,
  randomByteFuel: 64,
  /** What a guest's waits (sleep, HTTP) may take in one call before it is unwound. */
  waitMs: 5 * 60 * 1000,
  /** Guests that wait at once, in one isolate: each keeps its memory, and V8 a stack. */
  waitingGuests: 1000,
  /** Those of one caller, where it is known which one it is: others are to be served meanwhile. */
  waitingGuestsOfOne: 250,
  /** Instances of one servlet that wait for a call: more calls at once than that are rare. */
  idleInstances: 16,
  /** All instances that wait, in one isolate. */
  idleBytes: 32 * 1024 * 1024,
  /**
   * Above this, putting an instance back costs more than making one. Measured, restored against new: at
   * 1 MiB 1.7 times the calls, at 4 MiB 1.16 times, at 8 MiB 0.91 times.
   */
  restoredBytes: 6 * 1024 * 1024,
  /** Answers that one call may be given: a servlet that asks for ever ends here. */
  journalEntries: 10_000,
  /** Characters of all these answers: each run holds them. */
  journalBytes: 32 * 1024 * 1024,
  /** How long a client may take to bring a state back: a user who is asked today may answer tomorrow. */
  stateMs: 48 * 3_600_000,
  /** A sealed state that a client carries; a larger one is kept in storage. */
  carriedStateBytes: 16 * 1024,
  /** How long one key seals. What it sealed lives for at most `taskMs` after that. */
  keyMs: 30 * 86_400_000,
  /** How long a task is kept after it was created. */
  taskMs: 7 * 86_400_000,
  /** What clients are told to wait between two looks at a task. */
  taskPollMs: 1000,
  /** A call that lasts for longer goes on as a task, where it can: clients and people give up soon after. */
  promoteAfterMs: 2000,
  /** A longer sleep of a task holds no memory: an alarm wakes it. */
  sleepInPlaceMs: 5000,
  /** How often a task whose run has died is run again. */
  maxRuns: 6,
  /** Before the second run; each further one waits twice as long. */
  rerunMs: 1000,
  /** How often one call may go back to its client for input: a servlet that asks for ever ends here. */
  inputRounds: 100,
  /** How often a servlet that returns what it asks may do so to a client that cannot be asked. */
  declinedRounds: 8,
  /** Silence on the stream of a call that waits: shorter than what proxies and clients give up after. */
  keepAliveMs: 5000,
  /** Open `subscriptions/listen` streams of one principal: all are in the memory of one hub. */
  listenStreams: 32,
  /** How long one is open: its hub is kept awake by it, and a client that is still there opens another. */
  listenMs: 15 * 60 * 1000,
  /** Silence on one: only by writing does a hub learn that its client has gone. */
  listenKeepAliveMs: 15_000,
  /** What one may ask for, as JSON: thousands of resources, and for all streams of a hub still little. */
  listenFilterCharacters: 64 * 1024,
  /** Tasks on one: for each is looked up whose it is. */
  listenTasks: 100,
  /** What may wait for one to be read: all that its filter can bring at once. More is a slow reader. */
  listenBacklogBytes: 1024 * 1024,
  /** Before a task whose session could not be told how it goes on tells it again. */
  ownerMs: 10_000,
  /** Sessions of one principal that hear of changes: each is told by itself. */
  hubSessions: 1000,
  /** Sessions that are told how one task goes on: its own, and others that wait for its result. */
  taskSessions: 8,
  /** How long a session lives in which nobody says anything: people close their laptops overnight. */
  sessionIdleMs: 24 * 3_600_000,
  /** How long a client has to answer the ping before its idle session ends. */
  sessionPingMs: 60_000,
  /** Calls of one session at once: all run in its object. */
  sessionCalls: 100,
  /** Tasks that the client of one session has asked for. */
  sessionTasks: 1000,
  /** Resources that one session may subscribe to. */
  sessionSubscriptions: 1000,
  /** Tasks on one page of a session's list: each is asked for by itself. */
  taskPage: 50,
  /** Messages that a session keeps for a client that comes back; the oldest notifications go first. */
  sessionEvents: 1000,
  /** Characters of all these messages, the newest aside. */
  sessionEventCharacters: 8 * 1024 * 1024,
  /** How long one of them is kept. */
  sessionEventMs: 24 * 3_600_000,
  /**
   * How long a session's own stream is open at once: it keeps the session awake, and a client that has
   * been silent for longer is told to come back less often.
   */
  sessionStreamMs: 60_000,
  /** How long the stream of a call that waits is open at once. */
  callStreamMs: 5 * 60_000,
  /** How soon a client comes back whose stream has ended, and how late at most. */
  retryMs: 1000,
  maxRetryMs: 5 * 60_000,
  /** An access token: those of large organisations, with groups in them, have some 4 KB. */
  tokenCharacters: 16 * 1024,
  /** How long a verified token is not verified again, and how many are remembered in one isolate. */
  tokenMemoryMs: 5 * 60_000,
  tokenMemory: 1000,
  /** The same for tokens of this server's own: KV would give one that was revoked for as long. */
  ownTokenMemoryMs: 60_000,
  /** What the clocks of an issuer and of this server may differ by. */
  clockToleranceMs: 30_000,
  /** After this an issuer's keys are fetched again; where it is down they are used for `keySetStaleMs`. */
  keySetMs: 10 * 60_000,
  keySetStaleMs: 3_600_000,
  /** Between two fetches for a key that is not there: whoever calls can name keys. */
  keySetCooldownMs: 30_000,
  /** Between two attempts to reach an issuer that is down. */
  issuerRetryMs: 5000,
  /** One request to an issuer. */
  issuerMs: 5000,
  /** What an issuer's metadata or key set may have. */
  issuerCharacters: 256 * 1024,
  /** Wrong passphrases in `attemptsMs`: from one address, and from all, for those who have many. */
  wrongPassphrases: 10,
  wrongPassphrasesOfAll: 100,
  attemptsMs: 3_600_000,
  /** Sign-in pages and registrations of clients in `attemptsMs`, from one address: each is a write. */
  signIns: 100,
  /** Host names that one isolate knows itself by. */
  origins: 20,
  /** The form of the sign-in page. */
  formBytes: 16 * 1024,
  /** Refresh tokens: a connector that is used now and then stays connected. Slides with each use. */
  refreshTokenMs: 90 * 86_400_000,
  /** One HTTP request of a guest, redirects included. */
  httpMs: 60 * 1000,
  /** HTTP requests of one call, redirects not counted. Asking for a token may take two hundred. */
  httpRequests: 500,
  /** A URL that a guest asks for or a client reads, and all headers of a guest's request: what servers commonly take. */
  urlCharacters: 8 * 1024,
  httpHeaderBytes: 16 * 1024,
  /** Body of one HTTP response that a guest reads. */
  httpBytes: 16 * 1024 * 1024,
  /** Redirects that a guest's HTTP request follows: what browsers do is 20, what APIs need is 1. */
  httpRedirects: 5,
  /** Extism variables of one call, keys and values together. The reference host allows as much. */
  varBytes: 1024 * 1024,
  /** One line that a guest writes to the server's log; the rest of it is cut off. */
  logCharacters: 4000,
  /** Lines that one call may write to the server's log. */
  logLines: 200,
  /** Progress and log notifications that one call may send to its client. */
  notifications: 10_000,
  /** Sets of scopes whose part of the catalog is kept in an isolate: few are in use at a time. */
  narrowRegistries: 100,
  /** How long lists that a servlet computes at run time are kept in an isolate. */
  dynamicListMs: 30_000,
  /** How long clients may keep lists that were made with the bundle: they change with a deployment. */
  listTtlMs: 300_000,
  /** Parts of a tool's schema once its references are inlined: some that share parts grow without end. */
  inlinedParts: 5000,
  /** How long what a call with a `call_id` came to is kept, for a client that calls again. */
  callRecordMs: 3_600_000,
  /** A `call_id`, and the other texts that a client makes up: a UUID has 36. */
  idCharacters: 256,
  /** Values in one completion: the protocol's own bound. */
  completionValues: 100,
} as const;

/** Puts other numbers in their places, as the configuration says. */
export function configureLimits(others: Partial<Record<keyof typeof limits, number>>): void {
  Object.assign(limits, others);
}
