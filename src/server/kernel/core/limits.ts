/** Every limit that several files use or tests change, with its reason. Sizes in bytes, times in milliseconds. */

/** Defaults of the limits that the variable `LIMITS` can change: those for which an operator can know a better number. */
export const publicLimits = {
  /** Size of a request. The official SDK has the same default, which fits an image or two in base64. */
  bodyBytes: 4 * 1024 * 1024,
  /**
   * Bodies of all requests in progress in one isolate. One caller may have half of what the others leave, so this is at
   * least twice `bodyBytes`. A call takes up to twenty times the memory of its body, and an isolate has 128 MB.
   */
  bodiesBytes: 8 * 1024 * 1024,
  /** Concurrent requests of one caller in one isolate. */
  concurrentCalls: 200,
  /** Calls of one caller per minute, in total and per tool; 0 disables the limit. */
  callsPerMinute: 0,
  toolCallsPerMinute: 0,
  /**
   * Sessions with something to keep, tasks, calls with an id and large states of waiting calls that are stored for one caller per day. Each
   * whole MiB of one counts once more, so the default allows 50 GB at most.
   */
  keptPerDay: 50_000,
  /**
   * Quotas of a whole IPv6 /48, in multiples of the quota of one caller. Providers give a home a /56 or a /48, and a
   * phone one network of a shared /48.
   */
  siteShares: 4,
  /** Open `subscriptions/listen` streams of one caller. */
  listenStreams: 32,
  /**
   * Computing time of one run of a call, in units of about a nanosecond. The default is 0.4 to 3 seconds, during which
   * the isolate serves others only where the guest can be suspended.
   */
  guestFuel: 3_000_000_000,
  /** Total time that one call may wait for HTTP responses and in sleeps before it is suspended or ended. */
  waitMs: 5 * 60 * 1000,
  /** Timeout of an HTTP request of a servlet, redirects included. */
  httpMs: 60 * 1000,
  /** HTTP requests of one call, without redirects. Polling for a token may take two hundred. */
  httpRequests: 500,
  /**
   * Memory of the guests that wait in one isolate. An isolate has 128 MiB on Cloudflare; the rest is for code, idle
   * instances and the running call. Beyond this limit, a guest is unwound while it waits, and later replayed from its
   * journal.
   */
  waitingBytes: 64 * 1024 * 1024,
  /** Part of `waitingBytes` for one caller or, if known, one /48, so that other callers are served too. */
  waitingBytesOfOne: 32 * 1024 * 1024,
  /** How long a call waits, if there is no room even for its unwound guest, before it is refused. */
  roomMs: 5000,
  /** Calls that wait for the state of one servlet in one scope. */
  queuedCalls: 100,
  /** Items on one page of a list. Some clients never ask for a second page. */
  pageItems: 500,
  /** How long clients may cache lists that were made with the bundle. They change with a deployment. */
  listTtlMs: 300_000,
  /** How long an isolate caches lists that a servlet computes at run time. */
  dynamicListMs: 30_000,
  /**
   * Calls on the page Calls, each stored for at most 30 days. A call takes 150 bytes, and 2 KB with the longest names and
   * error. At the limit, the oldest calls of the callers with the most calls are deleted.
   */
  loggedCalls: 10_000,
  /**
   * Files of one servlet in one scope, with 512 bytes for each file and 256 for each name. A Durable Object stores 10
   * GB.
   */
  fileBytes: 256 * 1024 * 1024,
  /**
   * Memory and files of all servlets that are stored for one caller, each scope rounded up to a MiB. Scopes that all
   * callers share are not counted.
   */
  callerStateBytes: 1024 * 1024 * 1024,
  /** How long the state of a servlet in a session is stored after its last call. */
  sessionStateMs: 7 * 24 * 3_600_000,
  /** How long the state of an anonymous caller is stored after its last call. */
  anonymousStateMs: 7 * 24 * 3_600_000,
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
   * Keep-alive interval on the stream of a waiting call: shorter than the timeouts of clients and of proxies before the
   * server.
   */
  keepAliveMs: 5000,
  /** Lifetime of an idle session, and of a session id without an object twice that: people close their laptops overnight. */
  sessionIdleMs: 24 * 3_600_000,
  /**
   * Sign-in pages that did not lead to an allowed app, and registrations of clients, from one address in an hour. A
   * large office has one address.
   */
  signIns: 100,
  registrations: 100,
  /** Lifetime of refresh tokens, renewed with each use: an app that is not used for longer must sign in again. */
  refreshTokenMs: 90 * 86_400_000,
  /** Tolerated clock difference between an issuer of tokens and this server. */
  clockToleranceMs: 30_000,
  /** How long a person stays signed in on pages of this server that answer questions. */
  personMs: 15 * 60_000,
} satisfies Record<string, number>;

const all = {
  ...publicLimits,
  /**
   * Answers and event streams that their clients have not read yet, in one isolate; each caller, or /48, may have half of what
   * the others leave before its next request is refused. Those of less than `smallAnswer` fit into the buffers of the network.
   */
  unreadBytes: 32 * 1024 * 1024,
  smallAnswer: 64 * 1024,
  /** In such pieces larger answers are written, each in a turn of the event loop, between which others' guests may compute. */
  answerPiece: 256 * 1024,
  /** How long a client may take to send a body, or to read the next piece of an answer: the largest takes half of it at 1 Mbit/s. */
  bodyMs: 60_000,
  /** A body at a path that does not exist: only the id of a small JSON-RPC request is looked for. */
  strayBodyBytes: 4096,
  /** How deep a body may be nested: arguments of tools are rarely deeper than ten. */
  bodyDepth: 64,
  /** Messages in one legacy batch. */
  batchMessages: 50,
  /** Nesting depth of a guest's output. Durable Object RPC fails on values nested more than a few thousand levels. */
  outputDepth: 256,
  /**
   * Fuel of all runs of one call together, in tanks of one run: each run repeats what those before it computed.
   * Enough for thousands of sleeps or questions.
   */
  callTanks: 100,
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
  /** Fuel for a second of a manifest's `compute_limit`. */
  fuelPerSecond: 1_000_000_000,
  /** Calls that servlets make within each other: deeper ones go round in circles more often than not. */
  innerDepth: 3,
  /** Calls that servlets make in one run of a call, those within each other too: pages of a long list, each item of which is looked up. */
  innerCalls: 1000,
  /** Calls made together that run at once: a request has at most six connections open. */
  innerTogether: 6,
  /** How long a call inside waits for the state of its servlet while calls around it hold the state of theirs: others may wait for that. */
  innerTurnMs: 5000,
  /** Additional cost of a host function whose answer goes into the journal, where it is hashed. */
  answerFuel: 6000,
  /** Fuel for each byte that the host reads or writes for a guest. */
  byteFuel: 8,
  /** Overhead of each waiting guest beyond its own memory: V8's stack, its request, host objects. Measured: 0.1 MB. */
  waitingOverheadBytes: 256 * 1024,
  /** Memory of a waiting call whose guest is unwound: its request and host objects. */
  unwoundOverheadBytes: 32 * 1024,
  /** Delay before a task that found no room is run again, plus a random delay of up to as much. */
  shortageMs: 5000,
  /** The longest such delay, before the random part: it grows while there is no room, as each run opens the task's record. */
  maxShortageMs: 60_000,
  /**
   * Host memory of one call: its journal, variables, notifications. Two of the largest HTTP responses, and a
   * little. Together with what is decoded, sealed or read at a time (messages, `httpBytes`, `outputBytes`,
   * `bodyBytes`) a request costs 64 MB at most, measured.
   */
  hostBytes: 17 * 1024 * 1024,
  /** Cost of a journal entry or a variable beyond its text. */
  entryBytes: 256,
  /** A guest's output, counted like a body. Parsing and writing it takes ten times as much memory. */
  outputBytes: 4 * 1024 * 1024,
  /** Structured content that is repeated as text if its servlet has not done so: a model reads far less. */
  repeatedCharacters: 1024 * 1024,
  /** The error message of a servlet: a model reads it. */
  errorCharacters: 16 * 1024,
  /** Memory for what one call has read and changed of its files; beyond it, changes are staged in the database. */
  fileOverlayBytes: 4 * 1024 * 1024,
  /** Entries of one folder. */
  folderEntries: 100_000,
  /** A path of a file, in bytes: PATH_MAX of Linux. */
  filePathBytes: 4096,
  /** How long an export or import of a state may stand still: it holds the state. */
  stateStallMs: 30_000,
  /** The most of a file that a servlet of the kit reads at once: the host, the kernel and the interpreter each hold it. */
  fileReadBytes: 6 * 1024 * 1024,
  /** Folders that one servlet is given: each path of a servlet of the kit is compared with all of them. */
  mounts: 100,
  /** Symbolic links that are followed for one path: as many as Linux follows. */
  symlinks: 40,
  /** Files and folders that one guest has open: what most systems allow a process. Each takes some 300 bytes. */
  openFiles: 1024,
  /** Fuel for each statement of SQL, row that is sealed or opened, and name that is hashed for a guest's file calls. */
  fileStepFuel: 10_000,
  /** Fuel for each row that is looked up for a guest's file calls, also in memory. */
  lookUpFuel: 1000,
  /** I/O vectors per `fd_write` and events per `poll_oneoff`: IOV_MAX of Linux. */
  vectors: 1024,
  /** Stored memory and variables of a servlet in one scope: as much as one instance may have. */
  stateBytes: 64 * 1024 * 1024,
  /**
   * Above `callerStateBytes`, for calls that add nothing to files: also where a caller has used up everything, what is
   * there can be read and deleted, and a servlet can begin, though its memory grows by some pages for that. One scope
   * gets 1 MiB of it at most, and scopes that keep nothing yet get half of it in all.
   */
  callerReserveBytes: 64 * 1024 * 1024,
  /**
   * How long the request that has made a call may take to answer the object in which its guest runs: others wait
   * meanwhile. Longer than `resumeWaitMs`.
   */
  hookMs: 30_000,
  /**
   * Endings that one scope keeps for tasks whose object died before it heard of them, and their bytes: such a task
   * asks again within minutes, and no more than `queuedCalls` are on their way at once.
   */
  endings: 1000,
  endingBytes: 64 * 1024 * 1024,
  /** Memory of the instances that objects of one isolate keep between calls; others are loaded again. */
  keptInstanceBytes: 32 * 1024 * 1024,
  /** Idle instances of one servlet: more concurrent calls are rare. */
  idleInstances: 16,
  /** Memory of all idle instances of one isolate; one larger instance is kept in addition. */
  idleBytes: 32 * 1024 * 1024,
  /** Memory of dropped instances that triggers a garbage collection before the next instance is created. */
  garbageBytes: 64 * 1024 * 1024,
  /** Journal entries of one call: a servlet that asks in an endless loop ends here. */
  journalEntries: 10_000,
  /** A sealed state that a client carries; a larger one is kept in storage. */
  carriedStateBytes: 16 * 1024,
  /** Poll interval announced to clients of tasks. */
  taskPollMs: 1000,
  /** How long a new task's first response waits for its first run. */
  firstRunMs: 100,
  /** Text of a servlet in a task's status message, which each poll repeats; the rest is cut off. */
  statusCharacters: 500,
  /**
   * A longer call of a client that takes no stream, and so hears nothing until it ends, goes on without it if it can: the
   * client gets a link. One that cannot, or is in the middle of something, is stopped. Clients give up a request after a
   * minute, some after half of that.
   */
  silentMs: 25_000,
  silentEndMs: 45_000,
  /**
   * Runs of tasks that begin at once in one isolate: after a restart hundreds are due, and requests are served between
   * them. A run has begun when it waits for something, or has taken this long.
   */
  startsAtOnce: 4,
  startMs: 5000,
  /** A longer sleep of a task holds no memory: an alarm wakes it. */
  sleepInPlaceMs: 5000,
  /** Runs of a task in a row that die without a new answer. */
  maxRuns: 6,
  /**
   * The lease of a request that sends a POST for a carried call; it is renewed three times as often. Without a
   * lease the request is presumed dead.
   */
  sendingMs: 10_000,
  /** How long a retry waits for that request, and its poll interval: longer than the lease. */
  resumeWaitMs: 15_000,
  resumePollMs: 500,
  /** How late an alarm may go off. One that is later is lost, and is set again by whoever looks at its object. */
  lateAlarmMs: 5000,
  /**
   * How far a machine's clock may go back, by the clocks of others, before what waits is put forward: alarms and deadlines
   * would come so much later.
   */
  clockSlackMs: 60_000,
  /** Delay before the second run; it doubles with each further run. */
  rerunMs: 1000,
  /** Input rounds of one call: a servlet that asks in an endless loop ends here. */
  inputRounds: 100,
  /** Texts of a client's answer to one request: an image or two in base64. They are stored, sealed and replayed. */
  answerBytes: 4 * 1024 * 1024,
  /** Open streams of one hub, which all anonymous callers share, and the unread bytes of all of them. */
  hubStreams: 1000,
  hubBacklogBytes: 32 * 1024 * 1024,
  /** Filters of all streams of one hub, and of those of one caller. */
  hubFilterBytes: 16 * 1024 * 1024,
  listenFilterBytes: 2 * 1024 * 1024,
  /** Overhead of a URI or id in a filter beyond its text. */
  filterItemBytes: 32,
  /** Pause between two rounds of change notifications: servlets may report changes at any time, each to all clients. */
  changesMs: 1000,
  /**
   * Lifetime of a stream: it outlives a revoked credential. go-sdk 1.8 does not open another, so it is as long as
   * access tokens usually last. https://github.com/modelcontextprotocol/go-sdk/issues/1283
   */
  listenMs: 60 * 60 * 1000,
  /** Keep-alive interval on a stream: only a write detects that the client has gone. */
  listenKeepAliveMs: 15_000,
  /** Filter of one stream, as JSON text: room for thousands of resources. */
  listenFilterCharacters: 64 * 1024,
  /** Task ids per stream; each costs an ownership lookup. */
  listenTasks: 100,
  /** Unread bytes per stream: the most that its filter can deliver at once. A client with more reads too slowly. */
  listenBacklogBytes: 1024 * 1024,
  /** Delay before a task notifies an unreachable session again. */
  ownerMs: 10_000,
  /** Sessions of one principal that are notified of changes, each by a call to its object. */
  hubSessions: 1000,
  /** Sessions that are notified of one task's progress: its own, and others that wait for its result. */
  taskSessions: 8,
  /**
   * How late the time of a session's last use is stored. An evicted session takes it for the client's silence,
   * and tells the client to reconnect after a quarter of that.
   */
  sessionUsedMs: 20_000,
  /** How long a client may take to answer the ping before its idle session ends. */
  sessionPingMs: 60_000,
  /** Calls of one session that run at once in its object, or in an isolate. */
  sessionCalls: 100,
  /** Tasks that the client of one session has created. */
  sessionTasks: 1000,
  /** Pages of one session, asked for and not said to be done: the newest. Clients may wait for one or two. */
  sessionPages: 100,
  /** Resources that one session may subscribe to, and the characters of all their URIs. */
  sessionSubscriptions: 1000,
  sessionSubscriptionCharacters: 256 * 1024,
  /** Capabilities, name and version that a session stores of its client, as JSON: a dozen capabilities take a few hundred bytes. */
  clientBytes: 8 * 1024,
  /** Tasks on one page of a session's list: each costs a request to its object. */
  taskPage: 50,
  /** Messages that a session stores for a client that reconnects; the oldest notifications are dropped first. */
  sessionEvents: 1000,
  /** Bytes of all messages that a session stores except the newest, and unread bytes of all streams except one. */
  sessionEventBytes: 8 * 1024 * 1024,
  /** How long a session stores a message for a client that reconnects. */
  sessionEventMs: 24 * 3_600_000,
  /**
   * How long a session's own stream stays open before its client reconnects: it keeps the session's object
   * awake. A client that was silent for longer gets a longer reconnection delay.
   */
  sessionStreamMs: 60_000,
  /** How long one stream of a waiting call stays open before its client reconnects. */
  callStreamMs: 5 * 60_000,
  /** Reconnection delay of a client whose stream has ended: the shortest and the longest. */
  retryMs: 1000,
  maxRetryMs: 5 * 60_000,
  /** An access token: those of large organisations, with groups in them, have some 4 KB. */
  tokenCharacters: 16 * 1024,
  /** How long a verified token of this server's own is remembered in one isolate: KV may return a revoked one for as long. */
  ownTokenMemoryMs: 60_000,
  /** After this an issuer's keys are fetched again; while it is down they are used for `keySetStaleMs`. */
  keySetMs: 10 * 60_000,
  keySetStaleMs: 3_600_000,
  /** Pause between two fetches for an unknown key: any caller can name keys. */
  keySetCooldownMs: 30_000,
  /** Pause between two attempts to reach an issuer that is down. */
  issuerRetryMs: 5000,
  /** Timeout of a request to an issuer, or for a client's metadata document. */
  issuerMs: 5000,
  /** Size of an issuer's metadata or key set. */
  issuerBytes: 256 * 1024,
  /** How long a client's metadata document is used, and how long a refused one is not fetched again. */
  documentMs: 10 * 60_000,
  documentRetryMs: 60_000,
  /** Clients' metadata documents that an isolate remembers. */
  documents: 100,
  /** Fetches of clients' documents in `attemptsMs`, for one address and for all: any caller can name any host. */
  documentFetches: 30,
  documentFetchesOfAll: 300,
  /** A key of Workers KV: the platform's own bound. Parts of some keys come from callers. */
  storeKeyBytes: 512,
  /** Wrong passphrases in `attemptsMs`: from one address, and from all, against attackers with many. */
  wrongPassphrases: 10,
  wrongPassphrasesOfAll: 100,
  attemptsMs: 3_600_000,
  /** A client's name, or another foreign text on the sign-in page; the rest is cut off. */
  pageCharacters: 500,
  /** Questions that a person is asked on pages: nobody reads more. Larger ones fail, as where nobody can be asked. */
  shownAskBytes: 512 * 1024,
  /** How long `get_result` waits for a call: clients give up a request after a minute, some after half of that. */
  resultWaitMs: 25_000,
  /** How long a call waits for the page that its user has opened, before it asks again, and how often it asks. */
  pageMs: 25_000,
  secretAsks: 5,
  /** Secrets that are kept for one principal, and as many connected accounts: a person has a few dozen of each. */
  keptSecrets: 100,
  /** How long a page waits after an answer for the next question. */
  nextAskMs: 2000,
  /** How long a person may take at a provider to connect an account, and how often it may be begun in that time. */
  connectingMs: 10 * 60_000,
  connecting: 20,
  /** A token that is refused while it is as new as this is not renewed: it is not the token that is wrong. */
  accountFreshMs: 60_000,
  /** Calls that a person sees on the page of the account: each costs a request to its task. */
  shownCalls: 50,
  /** Names of each kind, and characters of each of them, that are shown of a servlet's lists to who approves it. */
  approvedNames: 50,
  approvedCharacters: 128,
  /** Calls and sessions that a person's console lists: 1.5 MB of memory and disk at most. */
  listedCalls: 1000,
  /** Event streams of one person's console: as many windows as one has open. */
  consoleStreams: 20,
  /** Characters of a question that a journal keeps for people: each answered question of a call that waits has them. */
  wordsCharacters: 200,
  /** Entries and changes of a call that its timeline shows, and how long its journal stays after the call has ended. */
  shownEntries: 200,
  endedJournalMs: 3_600_000,
  /**
   * Names of servlets, tools and callers that are counted by themselves in each minute, hour and day: with 600 bytes
   * each, counters take 20 MB at most.
   */
  usageNames: 100,
  /** Different errors of servlets that operators are shown. */
  shownErrors: 50,
  /** How often an isolate reads which keys are revoked. */
  keyCheckMs: 5000,
  /** How long an isolate collects counts before it sends them. */
  usageMs: 10_000,
  /** Size of the form of the sign-in page. */
  formBytes: 16 * 1024,
  /** How long a refresh is answered again: two windows of a client refresh at once, and answers are lost. */
  keptRefreshMs: 60_000,
  /** Used refresh tokens of one grant that are recognised: of six weeks where each hour has a refresh, 150 KB. */
  usedRefreshTokens: 1000,
  /** A URL that a guest requests or a client reads: a common limit of servers. */
  urlCharacters: 8 * 1024,
  /** Spans of one request, and characters of each text in them, which is a name mostly: where a call sends many requests. */
  requestSpans: 1000,
  spanCharacters: 256,
  /** Spans that wait for a collector, some 20 MB. */
  queuedSpans: 20_000,
  /** How long the exporter waits for the answer of a collector. */
  exportMs: 10_000,
  /** Body of one HTTP request of a guest, and of its response: it is kept in base64 too. */
  httpBytes: 6 * 1024 * 1024,
  /** Extism variables of one call, keys and values together. The reference host allows as much. */
  varBytes: 1024 * 1024,
  /** One log line of a guest; the rest is cut off. */
  logCharacters: 4000,
  /** Log lines of one call. */
  logLines: 200,
  /** Progress and log notifications of one call. */
  notifications: 10_000,
  /**
   * Steps of checking a value against a schema, or a text against patterns: about half a second, during which
   * the isolate serves no other request. The largest body takes some steps for each member and character.
   */
  checkSteps: 5_000_000,
  /** Issues reported for one value: people read the first few. */
  checkIssues: 20,
  /** A text that has a format, such as an e-mail address or a URI. */
  formatCharacters: 8 * 1024,
  /** A URI template: those that people write have some hundred characters. */
  templateCharacters: 2000,
  /** States of all patterns in one schema, once their repetitions are written out. */
  patternSizes: 50_000,
  /** Parts of a tool's schema after inlining its references: schemas with shared parts grow exponentially. */
  inlinedParts: 5000,
  /** How long the outcome of a call with a `call_id` is stored for retries. */
  callRecordMs: 3_600_000,
  /** A `call_id`, and other ids that a client chooses: a UUID has 36. */
  idCharacters: 256,
  /** A secret or token of a call: private keys have 4 KB at most, tokens up to `tokenCharacters`. */
  secretCharacters: 16 * 1024,
  /** One part of a build in the bucket: as much as a Worker may have. Its JSON: a row has 2 MB. */
  partBytes: 64 * 1024 * 1024,
  buildBytes: 1024 * 1024,
  /** The document of one view: clients fetch it before they show anything. */
  viewBytes: 1024 * 1024,
  /** The skills of a servlet: every client takes one of so many. */
  skillBytes: 16 * 1024 * 1024,
  /** How long an isolate serves what it knows of installed servlets before it asks for news: five seconds are promised. */
  installsMs: 3000,
  installsStaleMs: 4500,
  /** Installed servlets: the catalog of each isolate has all of them. */
  installedServlets: 300,
  /** Their builds together, as JSON: each isolate gets them in one message, which may have 32 MiB. */
  installedBytes: 16 * 1024 * 1024,
  /** How long a build is kept that is served no more: no call waits longer than `taskMs`. */
  oldBuildMs: 8 * 86_400_000,
  /** Waiting tasks that are noted for operators. */
  waitingTasks: 10_000,
  /** How often old builds are looked for, and parts that no build has any more are deleted when so old. */
  sweepMs: 86_400_000,
  /** A servlet that is fetched when the bundle is made, packed and unpacked: as much as a Worker may have. */
  sourceBytes: 64 * 1024 * 1024,
  /** A description of an API: the largest public ones have some 40 MB. */
  descriptionBytes: 64 * 1024 * 1024,
  /** An image's manifest, signature or token: registries must take manifests of 4 MiB. */
  sourceManifestBytes: 4 * 1024 * 1024,
  /** Silence of a registry, and the time of one request to it, on a slow line. */
  sourceIdleMs: 30_000,
  sourceMs: 300_000,
} satisfies Record<string, number>;

/** The limits in force. Only `configureLimits` changes them. */
export const limits: Readonly<typeof all> = all;

/** Changes limits: those that `LIMITS` sets, and in tests any. */
export function configureLimits(others: Partial<typeof all>): void {
  Object.assign(all, others);
}
