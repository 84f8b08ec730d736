/** The MCP methods of events, in all eras. */
import { Fault } from "../../kernel/core/errors.ts";
import type { Json } from "../../kernel/core/model.ts";
import { streamResponse } from "../../kernel/http/body.ts";
import type { Exchange, MethodRow, Methods } from "../../kernel/mcp/method.ts";
import { demandStream } from "../../kernel/mcp/wire/reply.ts";
import { whileGranted } from "../../kernel/mcp/wire/subscription.ts";
import type { SessionCall, SessionParts } from "../sessions/session-store.ts";
import type { EventCaller, EventServer } from "./event-server.ts";
import { LIST, POLL, STREAM, SUBSCRIBE, takesControlBodies, UNSUBSCRIBE } from "./wire.ts";

/** Answers a method; `isModern` for a client of 2026-07-28. */
type Answer = (params: Json, caller: EventCaller, isModern: boolean) => Promise<object>;

/** The rows of the methods. Without types of events they are unknown, as on a server without the feature. */
export function eventMethods(server: EventServer, hasTypes: () => Promise<boolean>): Methods {
  const demandTypes = async (method: string) => {
    if (!(await hasTypes()))
      throw new Fault("method_not_found", `Unknown method: ${method}. This server has no events.`);
  };
  const row = (method: string, answer: Answer): MethodRow => ({
    async modern({ params }, exchange, client) {
      await demandTypes(method);
      const takesControl = takesControlBodies(client.capabilities);
      return (await answer(params, { ...callerOf(exchange), takesControl }, true)) as Json;
    },
    async stateless(params: Json, exchange: Exchange) {
      await demandTypes(method);
      return (await answer(params, callerOf(exchange), false)) as Json;
    },
  });
  const answers: Record<string, Answer> = {
    [LIST]: (params, caller, isModern) => server.list(params, caller, isModern),
    [POLL]: (params, caller) => server.poll(params, caller),
    [SUBSCRIBE]: (params, caller) => server.subscribe(params, caller),
    [UNSUBSCRIBE]: (params, caller) => server.unsubscribe(params, caller),
  };
  return {
    ...Object.fromEntries(
      Object.entries(answers).map(([method, answer]) => [
        method,
        { ...row(method, answer), ...inSession(method, answer, demandTypes) },
      ]),
    ),
    [STREAM]: {
      async stream({ id, params }, exchange) {
        await demandTypes(STREAM);
        demandStream(exchange.accepts);
        const stream = await server.stream(params, callerOf(exchange), id);
        return streamResponse(whileGranted(stream, exchange));
      },
    },
  };
}

/** The caller of a request, and the hosts by which it has reached this server. */
function callerOf({ principal, registry, headers, pages }: Exchange): EventCaller {
  const host = headers.get("host");
  const names = [host === null ? undefined : `https://${host}`, pages].flatMap((url) => {
    const name = url === undefined ? undefined : URL.parse(url)?.hostname;
    return name === undefined ? [] : [name];
  });
  return { principal, access: registry.access, hosts: names };
}

/** The handler for a session whose messages its object answers. */
const inSession = (
  method: string,
  answer: Answer,
  demandTypes: (method: string) => Promise<void>,
) => ({
  async session(params: Json, { store, registry }: SessionParts, { scopes, post }: SessionCall) {
    await demandTypes(method);
    const principal = { ...(await store.principal()), ...(scopes && { scopes }) };
    const { access } = (await registry()).within(principal);
    const name = post?.pages === undefined ? undefined : URL.parse(post.pages)?.hostname;
    const hosts = name === undefined ? [] : [name];
    return (await answer(params, { principal, access, hosts }, false)) as Json;
  },
});
