/** Every number that bounds something, with its reason. Sizes in bytes, times in milliseconds. */
export const limits = {
  /**
   * A request's body: what servers of the official SDK take, an image or two in base64. As text it is held
   * several times, and where one character is beyond Latin-1 each counts two bytes.
   */
  bodyBytes: 4 * 1024 * 1024,
  /** How deep a body may be nested: arguments of tools are rarely deeper than ten. */
  bodyDepth: 64,
  /** Members and items of a body, all together. */
  bodyMembers: 200_000,
  /** Requests that one caller has in an isolate at once: others are to be served meanwhile. */
  concurrentCalls: 200,
  /**
   * What all networks of a /48 may have together of that which is bounded for one caller. Providers give a home a
   * /48 or /56, which is 65,536 or 256 networks, and a phone one of a /48 that it shares.
   */
  siteShares: 4,
  /** Calls of one caller per minute, in total and per tool; 0 disables the limit. */
  callsPerMinute: 0,
  toolCallsPerMinute: 0,
  /**
   * Sessions, tasks, states that their clients cannot carry, and calls with an id that are kept for one
   * caller in a day: most for an hour, none for longer than `taskMs` unless it is used. Each whole MiB of a
   * task or state counts once more, so these are 50 GB at most; the others have bounds of their own.
   */
  keptPerDay: 50_000,
  /** Messages in one legacy batch, and bytes of the results, which are held until the last is there. */
  batchMessages: 50,
  batchBytes: 4 * 1024 * 1024,
  /** Items on one page of a list: clients that never ask for a second page still see all of most servers. */
  pageItems: 500,
  /** Pages that a servlet's list may have before it is taken to be endless. */
  listPages: 100,
  /** Nesting depth of a guest's output. Durable Object RPC fails on values nested more than a few thousand levels. */
  outputDepth: 256,
  /** Memory of one instance, guest and kernel each. An isolate has 128 MiB for everything. */
  memoryBytes: 64 * 1024 * 1024,
  /**
   * Entries of all tables of one instance together: `memory_limit` does not bound them. V8 keeps 30 bytes
   * for a function's, twice that while a table grows, so this is 3 to 6 MB; compilers make an entry for
   * each function whose address is taken, of which large programs have some ten thousands.
   */
  tableEntries: 100_000,
  /** Fixed cost of a table, counted in entries: some 450 bytes. */
  tableOverhead: 16,
  /** Mutable globals of one servlet: each takes 150 bytes outside of its memory; compilers make about ten. */
  mutableGlobals: 10_000,
  /**
   * Values in one exception: 30 bytes and 15 ns each, outside of the guest's memory, for as long as it is
   * held. Compilers throw an address.
   */
  exceptionValues: 8,
  /**
   * What a guest may compute in one run of a call, in units of about a nanosecond: one to ten seconds, more
   * only where it misses the caches (src/wasm/README.md). Its isolate serves nobody else meanwhile.
   */
  guestFuel: 10_000_000_000,
  fuelPerSecond: 1_000_000_000,
  /**
   * Fuel of all runs of one call together, in tanks of one run: each run repeats what those before it computed.
   * Enough for thousands of sleeps or questions.
   */
  callTanks: 100,
  /** Fuel for a host function, and for one that suspends the guest or throws. */
  hostCallFuel: 1600,
  slowCallFuel: 4000,
  /** Additional cost of a host function whose answer goes into the journal, where it is hashed. */
  answerFuel: 6000,
  /** For each character of what a guest asks of its client, and each state of its forms' patterns. */
  formFuel: 200,
  patternStateFuel: 2000,
  /** Fuel for each I/O vector that a guest passes to WASI. */
  vectorFuel: 300,
  /** Fuel for each byte that the host reads or writes for a guest, and for each random byte. */
  byteFuel: 8,
  randomByteFuel: 64,
  /** Total waiting time (sleep, HTTP) of one call before it is unwound. */
  waitMs: 5 * 60 * 1000,
  /**
   * Memory that guests which wait keep in one isolate, which has 128 MiB: the rest is for code, idle
   * instances, and the call that runs.
   */
  waitingBytes: 64 * 1024 * 1024,
  /** The part of it for one caller or /48, where it is known which one it is: others are to be served meanwhile. */
  waitingBytesOfOne: 32 * 1024 * 1024,
  /** Cost of each of them beyond its own memory: V8's stack, its request, our objects. Measured: 0.1 MB. */
  waitingOverheadBytes: 256 * 1024,
  /** Delay before a task that found no room to wait is run again, plus a random delay up to the same. */
  shortageMs: 5000,
  /**
   * Memory of the host that is kept for one call: its journal, variables, notifications. Two of the largest
   * HTTP responses, and a little. With what is decoded, sealed or read for a moment (`messageBytes`,
   * `httpBytes`, `outputBytes`, `bodyBytes`) a request costs 64 MB at most, measured.
   */
  hostBytes: 17 * 1024 * 1024,
  /** Cost of a journal entry or a variable beyond its text. */
  entryBytes: 256,
  /** Names and keys that a guest gives: of config, variables, secrets. */
  nameBytes: 16 * 1024,
  /** One question, notification or request's head that a guest gives as JSON: an image or two in base64. */
  messageBytes: 4 * 1024 * 1024,
  /** A guest's output, counted as a body is. It is parsed and written again, which takes ten times as much. */
  outputBytes: 4 * 1024 * 1024,
  /** Structured content that is said in text too, where its servlet has not: a model reads far less. */
  repeatedCharacters: 1024 * 1024,
  /** Members and items of each of these: parsed, an empty object takes twenty times its text. */
  guestMembers: 200_000,
  /** The message of a servlet that fails: a model reads it. */
  errorCharacters: 16 * 1024,
  /** I/O vectors per `fd_write` and events per `poll_oneoff`: IOV_MAX of Linux. */
  vectors: 1024,
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
  /** How long a client may take to bring a state back: a user who is asked today may answer tomorrow. */
  stateMs: 48 * 3_600_000,
  /** A sealed state that a client carries; a larger one is kept in storage. */
  carriedStateBytes: 16 * 1024,
  /** How long one key seals. What it sealed lives for at most `taskMs` after that. */
  keyMs: 30 * 86_400_000,
  /** How long answers are kept that were uploaded to a task which is not there yet. */
  uploadMs: 10 * 60_000,
  /** How long a task is kept after it was created. */
  taskMs: 7 * 86_400_000,
  /** Poll interval that clients of tasks are given. */
  taskPollMs: 1000,
  /** How long a new task's first response waits for its first run. */
  firstRunMs: 100,
  /** A text of a servlet's in the status message of a task, which each poll repeats; the rest is cut off. */
  statusCharacters: 500,
  /** A call that lasts for longer goes on as a task, where it can: clients and people give up soon after. */
  promoteAfterMs: 2000,
  /** A longer sleep of a task holds no memory: an alarm wakes it. */
  sleepInPlaceMs: 5000,
  /** How often a task is run whose runs die without having been given a new answer. */
  maxRuns: 6,
  /**
   * A carried call that sends a POST is taken to be dead when it has not said for so long that it lives; it says
   * so three times as often.
   */
  sendingMs: 10_000,
  /** How long a retry of its request waits for it, and how often it looks: longer than it takes to be dead. */
  resumeWaitMs: 15_000,
  resumePollMs: 500,
  /** Before the second run; each further one waits twice as long. */
  rerunMs: 1000,
  /** How often one call may go back to its client for input: a servlet that asks for ever ends here. */
  inputRounds: 100,
  /** Texts of a client's answer to one question: an image or two in base64. It is kept, sealed, and replayed. */
  answerBytes: 4 * 1024 * 1024,
  /** Length of a client's error message as passed on to servlets and callers. */
  clientErrorCharacters: 500,
  /** How often a servlet that returns what it asks may do so to a client that cannot be asked. */
  unableRetries: 8,
  /** Silence on the stream of a call that waits: shorter than what proxies and clients give up after. */
  keepAliveMs: 5000,
  /** Open `subscriptions/listen` streams of one caller. */
  listenStreams: 32,
  /** Those of one hub, which all anonymous callers share, and what may wait to be read on all of them. */
  hubStreams: 1000,
  hubBacklogBytes: 32 * 1024 * 1024,
  /** Filters of all these streams, which are held for as long, and of those of one caller. */
  hubFilterBytes: 16 * 1024 * 1024,
  listenFilterBytes: 2 * 1024 * 1024,
  /** Cost of a URI or id in them beyond its text. */
  filterItemBytes: 32,
  /** Pause between two rounds of change notifications: servlets may report changes at any time, and each goes to all clients. */
  changesMs: 1000,
  /** Characters of the changes in one notification round, as JSON: as many as a filter may name. Each session gets them. */
  changesCharacters: 64 * 1024,
  /**
   * How long one is open: it outlives a credential that was revoked. go-sdk 1.8 does not open another, so it is
   * as long as access tokens usually last. https://github.com/modelcontextprotocol/go-sdk/issues/1283
   */
  listenMs: 60 * 60 * 1000,
  /** Silence on one: only by writing does a hub learn that its client has gone. */
  listenKeepAliveMs: 15_000,
  /** Filter of one stream, as JSON text: room for thousands of resources. */
  listenFilterCharacters: 64 * 1024,
  /** Task ids per stream; each costs an ownership lookup. */
  listenTasks: 100,
  /** Unread bytes per stream: the most that its filter can deliver at once. A client with more is too slow. */
  listenBacklogBytes: 1024 * 1024,
  /** Delay before a task notifies an unreachable session again. */
  ownerMs: 10_000,
  /** Sessions of one principal that are notified of changes, each by a call to its object. */
  hubSessions: 1000,
  /** Sessions that are notified of one task's progress: its own, and others that wait for its result. */
  taskSessions: 8,
  /** How long a session lives in which nobody says anything: people close their laptops overnight. */
  sessionIdleMs: 24 * 3_600_000,
  /**
   * How old the stored time of a session's last use may be. A session that was evicted takes it for the
   * client's silence, and tells the client to come back a quarter of that later.
   */
  sessionUsedMs: 20_000,
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
  /** Characters of all these messages, the newest aside; and bytes that wait to be read on all streams, one aside. */
  sessionEventCharacters: 8 * 1024 * 1024,
  /** How long one of them is kept. */
  sessionEventMs: 24 * 3_600_000,
  /**
   * How long a session's own stream stays open before its client reconnects: it keeps the session's object
   * awake. A client that was silent for longer gets a longer reconnection delay.
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
  /** Tolerated clock difference between an issuer and this server. */
  clockToleranceMs: 30_000,
  /** After this an issuer's keys are fetched again; where it is down they are used for `keySetStaleMs`. */
  keySetMs: 10 * 60_000,
  keySetStaleMs: 3_600_000,
  /** Between two fetches for a key that is not there: whoever calls can name keys. */
  keySetCooldownMs: 30_000,
  /** Between two attempts to reach an issuer that is down. */
  issuerRetryMs: 5000,
  /** One request to an issuer, or for a client's metadata document. */
  issuerMs: 5000,
  /** Size of an issuer's metadata or key set. */
  issuerBytes: 256 * 1024,
  /** A client's metadata document: what the draft recommends. https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document */
  documentBytes: 5 * 1024,
  /** How long such a document is used, and how long one that was refused is not fetched again. */
  documentMs: 10 * 60_000,
  documentRetryMs: 60_000,
  /** Documents that an isolate remembers. */
  documents: 100,
  /** Fetches of documents in `attemptsMs`, for one address and for all: whoever calls can name any host. */
  documentFetches: 30,
  documentFetchesOfAll: 300,
  /** A key of Workers KV: the platform's own bound. Parts of some keys come from callers. */
  storeKeyBytes: 512,
  /** Wrong passphrases in `attemptsMs`: from one address, and from all, for those who have many. */
  wrongPassphrases: 10,
  wrongPassphrasesOfAll: 100,
  attemptsMs: 3_600_000,
  /**
   * Sign-in pages by which the owner has let no app in, and registrations of clients, in `attemptsMs`, from one
   * address: each is a write.
   */
  signIns: 100,
  registrations: 100,
  /** Host names that one isolate knows itself by. */
  origins: 20,
  /** A client's name, or another text of others on the sign-in page; the rest is cut off. */
  pageCharacters: 500,
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
  /** Body of one HTTP request of a guest, and of its response: it is kept in base64 too. */
  httpBytes: 6 * 1024 * 1024,
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
  /**
   * Steps in which a value is checked against a schema, or a text against patterns: about half a second.
   * Nobody else is served meanwhile. The largest body takes some steps for each member and character.
   */
  checkSteps: 5_000_000,
  /** A value is too large, rather than its schema too complex, where it has more parts than this share of the steps. */
  checkStepsPerPart: 50,
  /** How deep schemas may lead into each other for one value, references included: each takes stack. */
  checkDepth: 1500,
  /** Issues reported for one value, and characters quoted of a text in it: people read the first few. */
  checkIssues: 20,
  issueCharacters: 200,
  /** A text that has a format, such as an e-mail address or a URI. */
  formatCharacters: 8 * 1024,
  /** A pattern in a schema or a manifest, and a URI template: those that people write have some hundred. */
  patternCharacters: 4000,
  templateCharacters: 2000,
  /** How deep groups of a pattern may be nested: each takes stack. */
  patternDepth: 100,
  /** Lookarounds in one pattern: each is a bit of a number. */
  patternLookarounds: 16,
  /** States of one pattern, once its repetitions are written out, and of all in one schema. */
  patternSize: 10_000,
  patternSizes: 50_000,
  /** Steps charged for a state of a pattern that is visited for the first time. */
  patternStateSteps: 4,
  /** Numbers that patterns keep in one isolate in order not to visit states again: some 20 MB. */
  patternStateNumbers: 500_000,
  /** Parts of a tool's schema once its references are inlined: some that share parts grow without end. */
  inlinedParts: 5000,
  /** References that lead into each other, once they are inlined: each takes stack. */
  inlinedDepth: 200,
  /** How long what a call with a `call_id` came to is kept, for a client that calls again. */
  callRecordMs: 3_600_000,
  /** A `call_id`, and the other texts that a client makes up: a UUID has 36. */
  idCharacters: 256,
  /** A secret or token that a call brings: private keys have 4 KB at most, tokens what `tokenCharacters` says. */
  secretCharacters: 16 * 1024,
  /** Secrets, and tokens, that a call may bring: tools need a few. */
  contextEntries: 100,
  /** Values in one completion: the protocol's own bound. */
  completionValues: 100,
} satisfies Record<string, number>;

/** Replaces limits by configured values. */
export function configureLimits(others: Partial<Record<keyof typeof limits, number>>): void {
  Object.assign(limits, others);
}
