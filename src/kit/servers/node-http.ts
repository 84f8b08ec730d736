/** `node:http` and `node:https`: `createServer` registers the server; requests throw an error that names `fetch`. */
import { createServer } from "./http.ts";

const refuse = (): never => {
  throw new Error("A servlet makes requests by fetch: http.request and http.get do not work here.");
};

export const request = refuse;
export const get = refuse;
export class Agent {}
export class IncomingMessage {}
export class ServerResponse {}
export class Server {}
export const globalAgent = new Agent();
export const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];
export const STATUS_CODES: Record<number, string> = {};
export { createServer };
export default {
  request,
  get,
  Agent,
  IncomingMessage,
  ServerResponse,
  Server,
  globalAgent,
  METHODS,
  STATUS_CODES,
  createServer,
};
