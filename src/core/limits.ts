/** Every limit, with its reason. Sizes in bytes, times in milliseconds. */
export const limits = {
  /**
   * A request's body: what servers of the official SDK take, an image or two in base64. As text it is held
   * several times, and where one character is beyond Latin-1 each counts two bytes.
   */
  bodyBytes: 4 * 1024 * 1024,
  /**
   * Bodies of all requests in flight in one isolate, from before they are read until their responses have ended: a call
   * takes up to twenty times its body, and an isolate has 128 MB. Each caller, or /48, may have half of what the others leave.
   */
  bodiesBytes: 8 * 1024 * 1024,
  /**
   * Answers that their clients have not read yet, in one isolate; each caller, or /48, may have half of what the others leave
   * before its next request is refused. Those of less than `smallAnswer` fit into the buffers of the network.
   */
  unreadBytes: 32 * 1024 * 1024,
  smallAnswer: 64 * 1024,
  /** How long a client may take to send a body, or to read the next `smallAnswer` of an answer: the largest takes half of it at 1 Mbit/s. */
  bodyMs: 60_000,
  /** A body at a path that does not exist: only the id of a small JSON-RPC request is looked for. */
  strayBodyBytes: 4096,
  /** How deep a body may be nested: arguments of tools are rarely deeper than ten. */
  bodyDepth: 64,
  /** Members and items of a body, all together. */
  bodyMembers: 200_000,
  /** Concurrent requests of one caller in an isolate: the others must be served too. */
  concurrentCalls: 200,
  /**
   * Quotas of a whole /48, in multiples of one caller's. Providers give a home a /48 or /56, which is 65,536 or
   * 256 networks, and a phone one network of a shared /48.
   */
  siteShares: 4,
  /** Calls of one caller per minute, in total and per tool; 0 disables the limit. */
  callsPerMinute: 0,
  toolCallsPerMinute: 0,
  /**
   * Sessions, tasks, states that their clients cannot carry, and calls with an id, stored for one caller per
   * day: most for an hour, none for longer than `taskMs` unless it is used. Each whole MiB of a task or state
   * counts once more, so these are 50 GB at most; the others have bounds of their own.
   */
  keptPerDay: 50_000,
  /** Messages in one legacy batch, and bytes of the results, which are held until the last is there. */
  batchMessages: 50,
  batchBytes: 4 * 1024 * 1024,
  /** Items on one page of a list: clients that never ask for a second page still see all of most servers. */
  pageItems: 500,
  /** Pages of a servlet's list; a longer one is treated as endless. */
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
   * Fuel of one run of a call, in units of about a nanosecond: 0.4 to 3 seconds of computing, more only with
   * cache misses (src/wasm/README.md). Meanwhile the isolate serves others only where the guest can be suspended.
   */
  guestFuel: 3_000_000_000,
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
  /** Fuel for each character of a request to the client, and for each state of its forms' patterns. */
  formFuel: 200,
  patternStateFuel: 2000,
  /** Additional cost of a hash, a cipher or an encoding, whatever it is given: the platform makes a key or a decoder for it. */
  cryptoFuel: 20_000,
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
  /** The part of it for one caller or /48, if known: the others must be served too. */
  waitingBytesOfOne: 32 * 1024 * 1024,
  /** Overhead of each waiting guest beyond its own memory: V8's stack, its request, host objects. Measured: 0.1 MB. */
  waitingOverheadBytes: 256 * 1024,
  /** Delay before a task that found no room to wait is run again, plus a random delay of up to as much. */
  shortageMs: 5000,
  /**
   * Host memory of one call: its journal, variables, notifications. Two of the largest HTTP responses, and a
   * little. Together with what is decoded, sealed or read at a time (`messageBytes`,
   * `httpBytes`, `outputBytes`, `bodyBytes`) a request costs 64 MB at most, measured.
   */
  hostBytes: 17 * 1024 * 1024,
  /** Cost of a journal entry or a variable beyond its text. */
  entryBytes: 256,
  /** Names and keys from a guest: of config, variables, secrets. */
  nameBytes: 16 * 1024,
  /** One request, notification or HTTP head that a guest gives as JSON: an image or two in base64. */
  messageBytes: 4 * 1024 * 1024,
  /** A guest's output, counted like a body. Parsing and writing it takes ten times as much memory. */
  outputBytes: 4 * 1024 * 1024,
  /** Structured content that is repeated as text if its servlet has not done so: a model reads far less. */
  repeatedCharacters: 1024 * 1024,
  /** Members and items of each of these: parsed, an empty object takes twenty times its text. */
  guestMembers: 200_000,
  /** The error message of a servlet: a model reads it. */
  errorCharacters: 16 * 1024,
  /**
   * Bytes of all files of one scope, with 512 for each file and 256 for each name. A Durable Object stores 10 GB;
   * this is a database of 50 MB that is vacuumed, with room to spare.
   */
  fileBytes: 256 * 1024 * 1024,
  /** Memory for what one call has read and changed of its files; beyond it, changes are staged in the database. */
  fileOverlayBytes: 4 * 1024 * 1024,
  /** Entries of one folder. */
  folderEntries: 100_000,
  /** A name in a folder, and a path: NAME_MAX and PATH_MAX of Linux, in bytes. */
  fileNameBytes: 255,
  filePathBytes: 4096,
  /** Files that the summary of a state lists. */
  listedFiles: 1000,
  /** How long an export or import of a state may stand still: it holds the state. */
  stateStallMs: 30_000,
  /** The most of a file that a servlet of the kit reads at once: the host, the kernel and the engine each hold it. */
  fileReadBytes: 6 * 1024 * 1024,
  /** Folders that one servlet is given: each path of a servlet of the kit is compared with all of them. */
  mounts: 100,
  /** Symbolic links that are followed for one path: as many as Linux follows. */
  symlinks: 40,
  /** Files and folders that one guest has open: what most systems allow a process. Each takes some 300 bytes. */
  openFiles: 1024,
  /** Fuel for each statement of SQL, row that is sealed or opened, and name that is hashed for a guest's file calls. */
  fileStepFuel: 10_000,
  /** Fuel for each row that is looked up for them, also in memory. */
  lookUpFuel: 1000,
  /** I/O vectors per `fd_write` and events per `poll_oneoff`: IOV_MAX of Linux. */
  vectors: 1024,
  /** Fuel with which a guest collects its garbage before its state is stored: several times what a full memory needs. */
  collectFuel: 1_000_000_000,
  /** Calls that wait for the state of one servlet in one scope. */
  queuedCalls: 100,
  /** Stored memory and variables of a servlet in one scope: as much as one instance may have. */
  stateBytes: 64 * 1024 * 1024,
  /**
   * Memory and files of all servlets together that are kept for one caller, in whole MiB for each scope; those of
   * scopes that all callers share are not counted. Four times what the files of one scope may take.
   */
  callerStateBytes: 1024 * 1024 * 1024,
  /**
   * Above that, for calls that add nothing to files: also where a caller has used up everything, what is there can be read
   * and deleted, and a servlet can begin, though its memory grows by some pages for that. One scope gets 1 MiB of it at
   * most, and scopes that keep nothing yet get half of it in all.
   */
  callerReserveBytes: 64 * 1024 * 1024,
  /** Of `callerStateBytes`, what files leave for the memory that their call changes, or half of the rest; how long an object relies on what it has heard of it. */
  memoryRoomBytes: 1024 * 1024,
  roomMs: 10_000,
  /**
   * Before a caller is refused more, the objects that were longest unheard of are asked what they hold: so many, and
   * after such a pause. A request may make a thousand others.
   */
  auditedObjects: 200,
  auditMs: 60_000,
  /**
   * How long the request that has made a call may take to answer the object in which its guest runs: others wait
   * meanwhile. Longer than `resumeWaitMs`.
   */
  hookMs: 30_000,
  /** Hubs that hear of changes in the state that all callers share, each by a call to its object. */
  joinedHubs: 1000,
  /**
   * Endings that one scope keeps for tasks whose object died before it heard of them, and their bytes: such a task
   * asks again within minutes, and no more than `queuedCalls` are on their way at once.
   */
  endings: 1000,
  endingBytes: 64 * 1024 * 1024,
  /** Memory of the instances that objects of one isolate keep between calls; others are loaded again. */
  keptInstanceBytes: 32 * 1024 * 1024,
  /** Files that a servlet's folders begin with, for each folder: they are part of the upload. */
  initialFileBytes: 4 * 1024 * 1024,
  /** How long the state of a servlet in a session is kept after its last call. */
  sessionStateMs: 7 * 24 * 3_600_000,
  /** How long the state of an anonymous caller is kept after its last call: only that caller can reach or delete it. */
  anonymousStateMs: 7 * 24 * 3_600_000,
  /** How much longer the two above may take, so that not each call must store when it was. */
  stateSlackMs: 3_600_000,
  /** Idle instances of one servlet: more concurrent calls are rare. */
  idleInstances: 16,
  /** Memory of all idle instances of one isolate. */
  idleBytes: 32 * 1024 * 1024,
  /**
   * Largest instance that is restored where its guest does not mark what it writes: above this, rewriting all
   * costs more than making one. Measured, restored against new: at 1 MiB 1.7 times the calls, at 4 MiB 1.16
   * times, at 8 MiB 0.91 times.
   */
  restoredBytes: 6 * 1024 * 1024,
  /** Journal entries of one call: a servlet that asks in an endless loop ends here. */
  journalEntries: 10_000,
  /** How long a client may take to return a state: a user who is asked today may answer tomorrow. */
  stateMs: 48 * 3_600_000,
  /** A sealed state that a client carries; a larger one is kept in storage. */
  carriedStateBytes: 16 * 1024,
  /** How long one key is used to seal. Everything sealed expires at most `taskMs` after that. */
  keyMs: 30 * 86_400_000,
  /** How long the uploaded parts of a large call are stored until its task is created. */
  uploadMs: 10 * 60_000,
  /** How long a task is kept after it was created. */
  taskMs: 7 * 86_400_000,
  /** Poll interval announced to clients of tasks. */
  taskPollMs: 1000,
  /** How long a new task's first response waits for its first run. */
  firstRunMs: 100,
  /** Text of a servlet in a task's status message, which each poll repeats; the rest is cut off. */
  statusCharacters: 500,
  /** A longer call becomes a task if it can: clients and people give up soon after. */
  promoteAfterMs: 2000,
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
  /** Length of a client's error message as passed on to servlets and callers. */
  clientErrorCharacters: 500,
  /** How often a servlet may return input requests to a client that cannot be asked. */
  unableRetries: 8,
  /** Keep-alive interval on the stream of a waiting call: shorter than the timeouts of proxies and clients. */
  keepAliveMs: 5000,
  /** Open `subscriptions/listen` streams of one caller. */
  listenStreams: 32,
  /** Open streams of one hub, which all anonymous callers share, and the unread bytes of all of them. */
  hubStreams: 1000,
  hubBacklogBytes: 32 * 1024 * 1024,
  /** Filters of all these streams, and of those of one caller. */
  hubFilterBytes: 16 * 1024 * 1024,
  listenFilterBytes: 2 * 1024 * 1024,
  /** Overhead of a URI or id in a filter beyond its text. */
  filterItemBytes: 32,
  /** Pause between two rounds of change notifications: servlets may report changes at any time, each to all clients. */
  changesMs: 1000,
  /** Characters of the changes in one notification round, as JSON: as many as a filter may name. Each session gets them. */
  changesCharacters: 64 * 1024,
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
  /** Lifetime of an idle session: people close their laptops overnight. */
  sessionIdleMs: 24 * 3_600_000,
  /**
   * How late the time of a session's last use is stored. An evicted session takes it for the client's silence,
   * and tells the client to reconnect after a quarter of that.
   */
  sessionUsedMs: 20_000,
  /** How long a client may take to answer the ping before its idle session ends. */
  sessionPingMs: 60_000,
  /** Calls of one session at once: all run in its object. */
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
  /** Characters of all these messages except the newest, and unread bytes of all streams except one. */
  sessionEventCharacters: 8 * 1024 * 1024,
  /** How long such a message is stored. */
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
  /** How long a verified token is remembered, and how many are, in one isolate. */
  tokenMemoryMs: 5 * 60_000,
  tokenMemory: 1000,
  /** The same for this server's own tokens: KV may return a revoked one for as long. */
  ownTokenMemoryMs: 60_000,
  /** Tolerated clock difference between an issuer and this server. */
  clockToleranceMs: 30_000,
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
  /** Size of a client's metadata document, as the draft recommends. https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document */
  documentBytes: 5 * 1024,
  /** How long such a document is used, and how long a refused one is not fetched again. */
  documentMs: 10 * 60_000,
  documentRetryMs: 60_000,
  /** Documents that an isolate remembers. */
  documents: 100,
  /** Fetches of documents in `attemptsMs`, for one address and for all: any caller can name any host. */
  documentFetches: 30,
  documentFetchesOfAll: 300,
  /** A key of Workers KV: the platform's own bound. Parts of some keys come from callers. */
  storeKeyBytes: 512,
  /** Wrong passphrases in `attemptsMs`: from one address, and from all, against attackers with many. */
  wrongPassphrases: 10,
  wrongPassphrasesOfAll: 100,
  attemptsMs: 3_600_000,
  /** How old an identity assertion of an enterprise may be, and how many wrong ones may come in `attemptsMs` from one address. */
  assertionMs: 300_000,
  wrongAssertions: 30,
  /**
   * Sign-in pages that did not lead to an allowed app, and registrations of clients, in `attemptsMs`, from one
   * address: each is a write.
   */
  signIns: 100,
  registrations: 100,
  /** Host names of this server that one isolate remembers. */
  origins: 20,
  /** A client's name, or another foreign text on the sign-in page; the rest is cut off. */
  pageCharacters: 500,
  /** Questions that a person is asked on pages: nobody reads more. Larger ones fail, as where nobody can be asked. */
  shownAskBytes: 512 * 1024,
  /** Fields that such a form sends, one for each option that was chosen: their page has a hundred bytes for each. */
  formFields: 100_000,
  /** Arguments of a call that its user sees on the page of a question. */
  shownArguments: 50,
  /** How long a person who has proven who they are need not do so again on such pages: a few questions. */
  personMs: 15 * 60_000,
  /** How long `get_result` waits for a call: clients give up a request after a minute, some after half of that. */
  resultWaitMs: 25_000,
  /** How long a call waits for the page that its user has opened, before it asks again, and how often it asks. */
  pageMs: 25_000,
  secretAsks: 5,
  /** Secrets that are kept for one principal, and as many connected accounts: a person has a few dozen of each. */
  keptSecrets: 100,
  /** How long a person may take at a provider to connect an account, and how often it may be begun in that time. */
  connectingMs: 10 * 60_000,
  connecting: 20,
  /** An account's token is renewed so long before it expires: a request with it may take that long. */
  accountMarginMs: 30_000,
  /** A token that is refused while it is as new as this is not renewed: it is not the token that is wrong. */
  accountFreshMs: 60_000,
  /** The path of a page that a person who signs in elsewhere comes back to: a cookie has 4096 bytes, sealed in base64. */
  backCharacters: 2000,
  /** Calls that a person sees on the page of the account: each costs a request to its task. */
  shownCalls: 50,
  /** How often that page looks for as many, where some have ended: one request may reach a thousand objects. */
  callLooks: 10,
  /** Calls and sessions that a person's console lists: half a MB of memory and disk. */
  listedCalls: 1000,
  /**
   * Characters of markup of all that the start page shows of servlets, shared among them: the page is held a few times
   * while it is made, and phones must show it. And of one table of a schema.
   */
  exploreCharacters: 4 * 1024 * 1024,
  tableCharacters: 100_000,
  /** Event streams of one person's console: as many windows as one has open. */
  consoleStreams: 20,
  /** Entries and changes of a call that its timeline shows, and how long its journal stays after the call has ended. */
  shownEntries: 200,
  endedJournalMs: 3_600_000,
  /** Characters of a call's result that its page shows: what people read, and not what they search. */
  shownEndCharacters: 20_000,
  /**
   * Names of servlets, tools and callers that are counted by themselves in each minute, hour and day, and characters of
   * each: with 600 bytes each, counters take 20 MB at most.
   */
  usageNames: 100,
  usageNameCharacters: 200,
  /** Objects of servlet state whose sizes are known to operators: the largest, 2 MB of rows. */
  usageObjects: 10_000,
  /** Different errors of servlets that operators are shown, and characters of each. */
  shownErrors: 50,
  errorExcerpt: 300,
  /** How late a server may know that a key was revoked. */
  keyCheckMs: 5000,
  /** How long an isolate collects counts before it sends them. */
  usageMs: 10_000,
  /** How long a page waits after an answer for the next question. */
  nextAskMs: 2000,
  /** Options of a choice that are shown one below the other; more become a list. */
  shownOptions: 12,
  /** Size of the form of the sign-in page. */
  formBytes: 16 * 1024,
  /** Lifetime of refresh tokens, renewed with each use: a connector that is used now and then stays connected. */
  refreshTokenMs: 90 * 86_400_000,
  /** How long a refresh is answered again: two windows of a client refresh at once, and answers are lost. */
  keptRefreshMs: 60_000,
  /** Used refresh tokens of one grant that are recognised: of six weeks where each hour has a refresh, 150 KB. */
  usedRefreshTokens: 1000,
  /** How long an ended grant is noted: until KV shows everywhere what was written before, and what was deleted. */
  endedGrantMs: 120_000,
  /** Timeout of an HTTP request of a guest, redirects included. */
  httpMs: 60 * 1000,
  /** HTTP requests of one call, without redirects. Polling for a token may take two hundred. */
  httpRequests: 500,
  /** A URL that a guest requests or a client reads, and all headers of a guest's request: common limits of servers. */
  urlCharacters: 8 * 1024,
  httpHeaderBytes: 16 * 1024,
  /**
   * What goes on from a caller's trace to others: as much as the W3C's recommendations ask for at least. Of
   * `tracestate`, half as many members.
   */
  tracestateCharacters: 512,
  baggageCharacters: 8192,
  traceMembers: 64,
  /** Spans of one request, and characters of each text in them, which is a name mostly: where a call sends many requests. */
  requestSpans: 1000,
  spanCharacters: 256,
  /**
   * What the exporter of a server that hosts itself keeps: spans of one trace, and of all that wait for a collector,
   * some 20 MB, and traces of which more may come; how many it sends at once, how often it does, and how long it waits for the answer.
   */
  exportedSpans: 5000,
  queuedSpans: 20_000,
  knownTraces: 1000,
  sentSpans: 512,
  exportEveryMs: 1000,
  exportMs: 10_000,
  /** How long a trace is held back for the end of its request, which tells of which trace of its caller it is a part. */
  heldTraceMs: 600_000,
  /** Body of one HTTP request of a guest, and of its response: it is kept in base64 too. */
  httpBytes: 6 * 1024 * 1024,
  /** Redirects that a guest's HTTP request follows: browsers follow 20, APIs need 1. */
  httpRedirects: 5,
  /** Extism variables of one call, keys and values together. The reference host allows as much. */
  varBytes: 1024 * 1024,
  /** One log line of a guest; the rest is cut off. */
  logCharacters: 4000,
  /** Log lines of one call. */
  logLines: 200,
  /** Progress and log notifications of one call. */
  notifications: 10_000,
  /** Sets of scopes whose part of the catalog is cached in an isolate: few are in use at a time. */
  narrowRegistries: 100,
  /** How long lists that a servlet computes at run time are cached in an isolate. */
  dynamicListMs: 30_000,
  /** How long clients may cache lists that were made with the bundle: they change with a deployment. */
  listTtlMs: 300_000,
  /**
   * Steps of checking a value against a schema, or a text against patterns: about half a second, during which
   * the isolate serves no other request. The largest body takes some steps for each member and character.
   */
  checkSteps: 5_000_000,
  /** A value is reported as too large, rather than its schema as too complex, if it has more parts than the steps divided by this. */
  checkStepsPerPart: 50,
  /** Nesting of schemas while one value is checked, references included: each level takes stack. */
  checkDepth: 1500,
  /** Issues reported for one value, and characters of a quoted text: people read the first few. */
  checkIssues: 20,
  issueCharacters: 200,
  /** A text that has a format, such as an e-mail address or a URI. */
  formatCharacters: 8 * 1024,
  /** A pattern in a schema or a manifest, and a URI template: those that people write have some hundred. */
  patternCharacters: 4000,
  templateCharacters: 2000,
  /** Nesting of groups in a pattern: each level takes stack. */
  patternDepth: 100,
  /** Lookarounds in one pattern: each is a bit of a number. */
  patternLookarounds: 16,
  /** States of one pattern, once its repetitions are written out, and of all in one schema. */
  patternSize: 10_000,
  patternSizes: 50_000,
  /** Steps charged for a state of a pattern that is visited for the first time. */
  patternStateSteps: 4,
  /** Numbers that patterns cache in one isolate to avoid visiting states again: some 20 MB. */
  patternStateNumbers: 500_000,
  /** Parts of a tool's schema after inlining its references: schemas with shared parts grow exponentially. */
  inlinedParts: 5000,
  /** Its text may grow so many times, and by so many characters more: a long text that is shared is written at each place. */
  inlinedGrowth: 4,
  inlinedCharacters: 4096,
  /** Nesting of inlined references: each level takes stack. */
  inlinedDepth: 200,
  /** How long the outcome of a call with a `call_id` is stored for retries. */
  callRecordMs: 3_600_000,
  /** A `call_id`, and other ids that a client chooses: a UUID has 36. */
  idCharacters: 256,
  /** A secret or token of a call: private keys have 4 KB at most, tokens up to `tokenCharacters`. */
  secretCharacters: 16 * 1024,
  /** Secrets of a call, and tokens of a call: tools need a few. */
  contextEntries: 100,
  /** One part of a build in the bucket: as much as a Worker may have. Its JSON: a row has 2 MB. */
  partBytes: 64 * 1024 * 1024,
  buildBytes: 1024 * 1024,
  /** How long an isolate serves what it knows of installed servlets before it asks for news: five seconds are promised. */
  installsMs: 3000,
  installsStaleMs: 4500,
  /** Versions of an installed servlet that are kept, to roll back to. */
  installedVersions: 10,
  /** Installed servlets: the catalog of each isolate has all of them. */
  installedServlets: 300,
  /** How long a build is kept that is served no more: no call waits longer than `taskMs`. */
  oldBuildMs: 8 * 86_400_000,
  /** Waiting tasks that are noted for operators, and those that one `replay` runs. */
  waitingTasks: 10_000,
  replayedTasks: 200,
  /** How often old builds are looked for, and parts that no build has any more are deleted when so old. */
  sweepMs: 86_400_000,
  /** Old builds that an isolate remembers. */
  oldBuilds: 100,
  /** CPU time of one call in an isolate of its own, besides its fuel. */
  loadedCpuMs: 300_000,
  /** A servlet that is fetched when the bundle is made, packed and unpacked: as much as a Worker may have. */
  sourceBytes: 64 * 1024 * 1024,
  /** An image's manifest, signature or token: registries must take manifests of 4 MiB. */
  sourceManifestBytes: 4 * 1024 * 1024,
  /** Silence of a registry, and the time of one request to it, on a slow line. */
  sourceIdleMs: 30_000,
  sourceMs: 300_000,
  /** Values in one completion: the protocol's own bound. */
  completionValues: 100,
} satisfies Record<string, number>;

/** The limits before any were configured. */
export const usualLimits: Readonly<typeof limits> = { ...limits };

/** Replaces limits by configured values. */
export function configureLimits(others: Partial<Record<keyof typeof limits, number>>): void {
  Object.assign(limits, others);
}
