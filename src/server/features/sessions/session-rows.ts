/** The tables of a session, and their rows. */
import type { Ask } from "../../kernel/core/asks.ts";
import type { RequestId } from "../../kernel/mcp/wire/message.ts";
import { SealedRows } from "../../kernel/storage/sealed-rows.ts";

/** A session's row: the columns that are not sealed. */
export interface SessionRow extends Record<string, SqlStorageValue> {
  principal: string;
  /** The profile at whose endpoint it began; null at `/mcp`. */
  profile: string | null;
  /** The name of its principal's hub. */
  hub: string;
  version: string;
  level: string;
  /** 1 once the client has sent `notifications/initialized`. */
  ready: 0 | 1;
  /** When its client last sent something, in Unix ms; stored at most `sessionUsedMs` late. */
  used: number;
  /** The numbers of events, streams and server requests so far. */
  events: number;
  streams: number;
  asks: number;
}

/** An open call and the stream for its messages. */
export interface StoredCall {
  number: number;
  /** The id of its request; null for a call without a request. */
  request: RequestId | null;
  method: string;
  stream: number;
  /** The task that it has become. */
  task?: string;
  progressToken?: string | number;
  /** The number of the newest notification that was sent to the client. */
  notified: number;
  /** The highest progress value sent to the client. */
  progress?: number;
  /** True once its servlet has sent, while it ran in the session, an HTTP request that must not be repeated. */
  hasSent?: boolean;
}

export interface CallRow extends Record<string, SqlStorageValue> {
  number: number;
  request: string;
  method: string;
  stream: number;
  task: string | null;
  token: string | null;
  told: number;
  progress: number | null;
  sent: number;
}

/** An open request of the server. */
export interface StoredAsk extends Record<string, SqlStorageValue> {
  number: number;
  task: string;
  /** Its key in the task. */
  key: string;
  stream: number;
}

/** The content of an open request of the server. */
export type OpenAsk = Ask & {
  /** True if the client may answer with a task of its own. */
  isTask: boolean;
};

/**
 * `calls.sent` is 1 once a call has sent an HTTP request that must not be repeated; `pages` has the pages that the user
 * was asked to open, oldest first, each by the digest of its `elicitationId`.
 */
export const SCHEMA = `
CREATE TABLE session (principal TEXT NOT NULL, profile TEXT, hub TEXT NOT NULL, version TEXT NOT NULL, level TEXT NOT NULL, ready INTEGER NOT NULL,
  used INTEGER NOT NULL, events INTEGER NOT NULL, streams INTEGER NOT NULL, asks INTEGER NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, stream INTEGER NOT NULL, minor INTEGER NOT NULL,
  sent INTEGER NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL);
CREATE INDEX dropped ON events (minor DESC, seq);
CREATE TABLE calls (number INTEGER PRIMARY KEY, request TEXT NOT NULL, method TEXT NOT NULL,
  stream INTEGER NOT NULL, task TEXT, token TEXT, told INTEGER NOT NULL, progress REAL, sent INTEGER NOT NULL);
CREATE TABLE asks (number INTEGER PRIMARY KEY, task TEXT NOT NULL, key TEXT NOT NULL, stream INTEGER NOT NULL);
CREATE TABLE subscriptions (uri TEXT PRIMARY KEY);
CREATE TABLE tasks (at INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT, until INTEGER NOT NULL);
CREATE TABLE pages (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
${SealedRows.texts}`;
