import { SECRET_MODE, type Asker } from "../core/asks.ts";
import type { CallContext } from "../core/call-context.ts";
import { limits } from "../core/limits.ts";
import { ANONYMOUS } from "../core/model.ts";
import type { Deployment } from "./deployment.ts";
import { serverAsker } from "./server-asks.ts";
import { beginningOf } from "../core/text.ts";

/** The beginning of a servlet's words, which stand in an address. */
const brief = (message: unknown): string => beginningOf(String(message), limits.pageCharacters);

/**
 * The call's asker, which looks up secrets of the caller for this servlet: `{action, content: {secret}}`, or `{url}` of
 * the page on which the caller enters it. The secret passes through no client.
 */
export function secretAsker(
  servlet: string,
  { ask, principal, link }: CallContext,
  { secrets }: Deployment,
): Asker {
  return serverAsker(SECRET_MODE, ask, async ({ name, message, after }, ms) => {
    if (secrets === undefined) return "This server keeps no secrets of its callers.";
    if (principal.name === ANONYMOUS.name) return "This server does not know who is calling.";
    const of = { servlet, name: String(name) };
    const secret = await secrets.find(principal.name, of, { after: Number(after), ms });
    if (secret !== undefined) return { action: "accept", content: { secret } };
    if (link === undefined) return "Its caller cannot open pages of this server.";
    const page = { ...of, principal: principal.name, message: brief(message) };
    return { url: await secrets.page(link.origin, page) };
  });
}
