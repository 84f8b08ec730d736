import type { Attempt } from "./attempt.ts";

/** A rule of the model that did not hold. */
export interface Violation {
  rule: Rule;
  what: string;
  /** The hole that it comes from, where it is one that is known. */
  hole?: string;
}

/** The rules that hold for a durable call as it is seen from internet, whatever happens. */
export const RULES = {
  "effect once":
    "A POST arrives at most once for each step of a program, unless the manifest says otherwise",
  "same key": "A request that is sent again has the key that it had",
  "answers fit": "What the servlet was told is an answer to its own question",
  "time rises": "The servlet's clock never goes back",
  "sleeps last": "A sleep takes its time by the servlet's clock",
  "unknown is said": "A caller that gets no result is told where the outcome of a POST is unknown",
  "asked once": "The client is asked each question under one key",
  "asked at all":
    "The client has had the whole time of a question before the servlet hears that it has passed",
  "same random numbers": "A request carries the random number that the servlet has at that step",
  "no shared random numbers":
    "Random numbers of a call are different from each other, and so are those of forks",
  // A request is repeated where its response was lost: nobody knows what of it was heard, so it says all again.
  "told in order":
    "Notifications come in order and once, and again only in the retry of a request that got no whole response",
  "told at all": "Who gets a result has heard all that was said before it",
  "ends are final": "A call that is over stays so",
  "ends as it should": "A call ends as its program says, given its answers",
  "ends at all": "When faults stop, a call comes to its end",
  "on time":
    "A call takes no longer than it says, if somebody looks at it: whatever becomes of alarms and clocks",
  "quiet when cancelled": "A call that is cancelled sends no further requests",
  "alarms lead on":
    "An alarm that has gone off is not set again and again for the same time, or for the present",
  "one history":
    "All calls of a scope see the same history of what is kept there, each as much of it as there is",
  "scopes share nothing": "What one scope keeps is seen in no other",
  "all or nothing":
    "All that a call keeps is there, or nothing of it; of one that is stopped, nothing",
  "state once": "What a call keeps is there once, however often it is run",
  "state kept": "What a call that has its answer keeps is there from then on",
  "one run each": "Each due time of a schedule and each delivery to a webhook has one run at most",
  "due runs happen":
    "Each due time of a schedule has a run, or is counted by a later one; each accepted delivery has a run",
  "not before its time": "No run of a schedule begins before it is due",
  "none after cancelling": "No run of a schedule begins after it is cancelled",
  "each event once": "A reader with a cursor gets each event that it may have, and gets it once",
  "events in order": "Readers get events in the order in which they were emitted, all in the same",
  "events are delivered":
    "A receiver gets each event while its subscription lives, with the same id each time",
  "files are whole":
    "A tool and a link give exactly the bytes of a file, from when its sender or maker has heard of it",
  "uploads go on":
    "An upload goes on from the bytes that have arrived, of which none are lost, or ends with an error that says why",
  "stored as counted": "The files of a caller take as much of its room as is stored of them",
  "nothing is left": "When the time of a call is over, nothing of it is stored",
  "no failure of ours": "No request is answered by an internal error but for a fault",
} as const;

export type Rule = keyof typeof RULES;

/**
 * Holes that are known, and what is seen of them. They fail no run until they are closed: take the row away
 * then, and what it let pass is a failure again.
 */
const KNOWN: Record<string, (violation: Violation, attempt: Attempt | undefined) => boolean> = {};

/** The known hole that a violation comes from, if it is one. */
export const known = (violation: Violation, attempt?: Attempt): string | undefined =>
  Object.keys(KNOWN).find((hole) => KNOWN[hole]!(violation, attempt));

export type Against = (rule: Rule, what: string) => void;
