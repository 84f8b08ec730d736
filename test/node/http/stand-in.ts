import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";

/** Starts a server at a port of this machine. */
export const listening = (listener: RequestListener, port: number): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer(listener);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });

/** Ends a server with its connections. */
export const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** How a service is down: it answers 503, refuses connections, or never answers. */
export type Outage = "unavailable" | "refused" | "hanging";

/** A request that a stand-in has received. */
export interface Received {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  /** Login of the person whose token or code came with the request, if it was valid. */
  login?: string;
  /** `grant_type` of a token request. */
  grant?: string;
}

/** Starts a service that records its requests, and that tests can take down. Requests are recorded while it is down, too. */
export async function standIn(listener: RequestListener, port: number) {
  const requests: Received[] = [];
  const records = new WeakMap<IncomingMessage, Received>();
  let outage: Outage | undefined;
  const open = () =>
    listening((request, response) => {
      const { pathname: path, searchParams: query } = new URL(request.url!, "http://stand-in");
      const record = { method: request.method!, path, query };
      requests.push(record);
      records.set(request, record);
      if (outage === "hanging") return;
      if (outage === "unavailable") return void response.writeHead(503).end("Down");
      listener(request, response);
    }, port);
  let server = await open();
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    recordOf: (request: IncomingMessage) => records.get(request)!,
    /** Takes the service down; without an argument up again. */
    async fail(how?: Outage) {
      if (how !== outage) await closed(server);
      if (how !== outage && how !== "refused") server = await open();
      outage = how;
    },
    close: () => closed(server),
  };
}

/** The body of a request. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await request.toArray()).toString();
}

/** The token of a request with `authorization: Bearer`. */
export const tokenIn = ({ headers }: IncomingMessage) =>
  /^Bearer (.*)$/i.exec(headers.authorization ?? "")?.[1];
