/** The least that a server of the shop can do on workerd: the same work behind a bare route. */
import { checkout, getUserCart, redisAt, searchProducts, type Stores } from "./tools.ts";

const TOOLS: Record<string, (stores: Stores, given: any) => Promise<object>> = {
  search_products: searchProducts,
  get_user_cart: getUserCart,
  checkout,
};

async function answer({ method, params }: any, stores: Stores): Promise<object> {
  if (method === "tools/call") {
    const result = await TOOLS[params.name]!(stores, params.arguments);
    return { content: [{ type: "text", text: JSON.stringify(result) }] };
  }
  if (method === "tools/list") return { tools: Object.keys(TOOLS).map((name) => ({ name })) };
  return { protocolVersion: params.protocolVersion, capabilities: { tools: {} } };
}

export default {
  async fetch(request: Request, env: { API: string; REDIS: string }): Promise<Response> {
    if (request.method !== "POST") return new Response();
    const message = (await request.json()) as any;
    if (message.id === undefined) return new Response(null, { status: 202 });
    const stores = { api: env.API, redis: redisAt(env.REDIS) };
    return Response.json({ jsonrpc: "2.0", id: message.id, result: await answer(message, stores) });
  },
};
