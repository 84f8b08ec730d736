/** Tasks of each client: the columns of the matrix, in the order of its program. */
export const THINGS = {
  connect: "connects, in the revision that the row names",
  lists: "lists tools, resources, templates and prompts",
  call: "calls a tool",
  structured: "gets structured content",
  image: "gets an image",
  progress: "hears how far a call is",
  read: "reads a resource",
  prompt: "gets a prompt",
  complete: "completes an argument",
  answer: "answers a question in the middle of a call",
  refuse: "declines one",
  late: "loses the call's stream while it is asked, and answers five seconds later",
  wrong: "answers with what the form does not allow, and can still call",
  task: "runs a task",
  cancel: "cancels a call, and calls again",
  changes: "hears that the list of tools has changed",
  drops: "loses its streams in the middle of a call; then calls, and hears of changes",
  stay: "calls and hears of changes after a while (`--stay MINUTES`)",
  gone: "learns that its session has ended",
  key: "is refused without an API key, and calls with one",
  oauth: "signs in with its own OAuth code, from nothing but the URL, and calls",
  team: "signs in by a team's provider (GitHub), and calls",
  wire: "has been sent nothing that is not in its revision's schema, and nothing is missing",
} as const;

export type Thing = keyof typeof THINGS;
