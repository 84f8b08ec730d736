import { SECRET_MODE, type Ask, type Asker } from "../asks.ts";
import type { CallContext } from "../call-context.ts";
import { limits } from "../limits.ts";
import { ANONYMOUS, type Json } from "../model.ts";
import { cannotAsk } from "./ask-failures.ts";
import type { Deployment } from "./deployment.ts";

/** The beginning of a servlet's words, which stand in an address. */
const brief = (message: unknown): string => String(message).slice(0, limits.pageCharacters);

/**
 * The call's asker, which looks up secrets of the caller for this servlet: `{action, content: {secret}}`, or `{url}` of the page on which
 * the caller enters it. The secret passes through no client.
 */
export function secretAsker(
  servlet: string,
  { ask, principal, link }: CallContext,
  { secrets }: Deployment,
): Asker {
  const lookUp = async (asked: Ask): Promise<Json | string> => {
    const { name, message, after, ms } = asked.params;
    if (secrets === undefined) return "This server keeps no secrets of its callers.";
    if (principal.name === ANONYMOUS.name) return "This server does not know who is calling.";
    const of = { servlet, name: String(name) };
    const wait = { after: Number(after), ms: Number(ms) };
    const secret = await secrets.find(principal.name, of, wait);
    if (secret !== undefined) return { action: "accept", content: { secret } };
    if (link === undefined) return "Its caller cannot open pages of this server.";
    const page = { ...of, principal: principal.name, message: brief(message) };
    return { url: await secrets.page(link.origin, page) };
  };
  return async (asks, signal) => {
    const [[key, asked] = []] = Object.entries(asks);
    if (key === undefined || asked?.params["mode"] !== SECRET_MODE) return ask(asks, signal);
    const result = await lookUp(asked);
    return { [key]: typeof result === "string" ? cannotAsk(asked, result) : { result } };
  };
}
