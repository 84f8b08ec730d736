/** Entries of the catalog: the schemas of their forms, and how they are called. */
import { UriTemplate } from "@modelcontextprotocol/client";
import { FILE_KEYWORD, UPLOAD_FILE } from "../server/kernel/core/files.ts";
import { isObject, type Json } from "../server/kernel/core/model.ts";
import { jsonIn } from "../server/kernel/core/text.ts";
import { fieldsOf } from "../server/kernel/schema/fields.ts";
import type { Calling } from "../server/features/console/programs.ts";
import type { CompleteField } from "./fields.tsx";
import type { SendFile } from "./files.ts";
import { stringsOf, templateSchemaOf } from "./form.ts";
import { Mcp, type Listener, type CallProgress } from "./mcp.ts";

export interface Target {
  kind: "tool" | "prompt" | "resource" | "template";
  name: string;
}

const connections = new WeakMap<Target, Promise<Mcp>>();

/** A connection per tried entry, so that all its messages belong to that entry. A failed connection is replaced. */
export function connectionFor(target: Target, address: string): Promise<Mcp> {
  const connection = connections.get(target) ?? Mcp.connect(address);
  connections.set(target, connection);
  connection.catch(() => connections.delete(target));
  return connection;
}

/** The schema of an entry's form. Throws an error with the reason if the entry cannot be tried. */
export async function formSchemaOf(target: Target, address: string): Promise<Json> {
  const { kind, name } = target;
  const mcp = await connectionFor(target, address);
  if (kind === "resource") return {};
  if (kind === "template") return templateSchemaOf(name);
  const gone = new Error(`${name} is no longer offered. Reload the page.`);
  if (kind === "prompt") {
    const prompt = await mcp.prompt(name);
    if (prompt === undefined) throw gone;
    return stringsOf(prompt.arguments ?? []);
  }
  const tool = await mcp.tool(name);
  if (tool === undefined) throw gone;
  return tool.inputSchema;
}

/** Sends files for the arguments of a tool; undefined if none is a file, or the server takes none. */
export async function sendFor(
  target: Target,
  address: string,
  schema: Json,
): Promise<SendFile | undefined> {
  if (target.kind !== "tool" || !JSON.stringify(schema).includes(FILE_KEYWORD)) return undefined;
  const mcp = await connectionFor(target, address);
  const failed = (error: unknown) => {
    throw new Error(reasonOf(error));
  };
  return (await mcp.tool(UPLOAD_FILE)) && ((file, how) => mcp.send(file, how).catch(failed));
}

/** Completes the arguments of a prompt or template; undefined for other entries. */
export function completionsOf(
  target: Target,
  address: string,
  schema: Json,
): CompleteField | undefined {
  const { kind, name } = target;
  if (kind !== "prompt" && kind !== "template") return undefined;
  const ref =
    kind === "prompt"
      ? { type: "ref/prompt" as const, name }
      : { type: "ref/resource" as const, uri: name };
  const names = new Map(fieldsOf(schema).map((field) => [field.id, field.name]));
  return async (argument, value, others) => {
    const mcp = await connectionFor(target, address);
    const given = Object.entries(others).flatMap(([id, text]) => {
      const known = names.get(id);
      return known === undefined || text === "" ? [] : [[known, text] as const];
    });
    return mcp.complete(ref, { name: argument, value }, Object.fromEntries(given));
  };
}

/** The request that calls an entry with the content of its form, for generated programs. */
export function callingOf({ kind, name }: Target, content: Json): Calling {
  if (kind === "tool") return { method: "tools/call", params: { name, arguments: content } };
  if (kind === "prompt") return { method: "prompts/get", params: { name, arguments: content } };
  const uri =
    kind === "template" ? new UriTemplate(name).expand(content as Record<string, string>) : name;
  return { method: "resources/read", params: { uri } };
}

/** Reads a resource that a result links to. */
export async function readLinked(target: Target, address: string, uri: string): Promise<Json> {
  const mcp = await connectionFor(target, address);
  return mcp.readBeside(uri);
}

/** Calls, gets or reads an entry with the content of its form. */
export async function callTarget(
  target: Target,
  address: string,
  {
    content,
    listener,
    signal,
    onprogress,
  }: {
    content: Json;
    listener: Listener;
    signal: AbortSignal;
    onprogress(progress: CallProgress): void;
  },
): Promise<object> {
  const { kind, name } = target;
  const mcp = await connectionFor(target, address);
  const texts = content as Record<string, string>;
  switch (kind) {
    case "tool":
      return mcp.call(name, content, listener, { signal, onprogress });
    case "prompt":
      return mcp.get(name, texts, listener, signal);
    case "resource":
      return mcp.read(name, listener, signal);
    case "template":
      return mcp.read(new UriTemplate(name).expand(texts), listener, signal);
  }
}

/** The reason for a failure, in words. */
export function reasonOf(error: unknown): string {
  if (isUnanswered(error)) return UNREACHED;
  const { message, data } = error as { message?: string; data?: unknown };
  const said =
    isObject(data) && typeof data["text"] === "string" ? saidIn(data["text"]) : undefined;
  if (said !== undefined) return said;
  const details = isObject(data) ? `\n${JSON.stringify(data, null, 2)}` : "";
  return `${message ?? String(error)}${details}`;
}

/** The message in a JSON-RPC error response: the client's error contains the whole response as text. */
const saidIn = (text: string): string | undefined =>
  ((jsonIn(text) ?? {}) as { error?: { message?: string } }).error?.message;

// The messages of Chromium, Firefox and Safari when `fetch` gets no response.
const isUnanswered = (error: unknown): boolean =>
  !navigator.onLine || /Failed to fetch|NetworkError|Load failed/.test(String(error));

const UNREACHED =
  "The server could not be reached. Check your network, and run this again. If the call had begun, it may have been done.";

/** A failure as the user sees it: a title, the reason, and advice. */
export interface Failure {
  title: string;
  why: string;
  advice?: string;
  mustSignIn?: true;
}

export function failureIn(error: unknown): Failure {
  if (isUnanswered(error)) return { title: "No answer", why: UNREACHED };
  const why = reasonOf(error);
  const { code, status } = error as { code?: unknown; status?: unknown };
  const http = [status, code].find((one) => typeof one === "number" && one >= 400 && one < 600);
  if (http === 401 || /sign in|unauthorized/i.test(why))
    return { title: "You are no longer signed in", why, mustSignIn: true };
  const known = ADVICE[String(http ?? code)];
  const shown = http ?? code;
  const title = typeof shown === "number" ? `The server refused this (${shown})` : "This failed";
  return { title, why, ...(known !== undefined && { advice: known }) };
}

/** Advice by HTTP status or JSON-RPC error code. */
const ADVICE: Record<string, string> = {
  403: "You may not do this. Ask whoever runs this server for access.",
  404: "It may have been renamed or removed. Reload the page.",
  413: "Send less, or a link to it.",
  429: "You have called too often. Wait a little, and run this again.",
  503: "Wait a little, and run this again.",
  "-32601": "This server does not offer that. Reload the page.",
  "-32602": "Check your values. If they are right, reload the page: this may no longer be offered.",
  "-32603": "Run this again. If it fails again, tell whoever runs this server, with this message.",
  "-32600": "Wait a little, and run this again. If it fails again, reload the page.",
};
