/** The shop as a server of the official TypeScript SDK: Node runs it, and the servlet `shop-sdk` has it as it is. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { checkout, DESCRIPTIONS, getUserCart, searchProducts, type Stores } from "./tools.ts";

const user_id = z.string().default("user-00042");
const items = z.array(z.object({ product_id: z.number(), quantity: z.number() }));

const said = (result: object) => ({
  content: [{ type: "text" as const, text: JSON.stringify(result) }],
});

export function newServer(stores: Stores): McpServer {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  server.registerTool(
    "search_products",
    {
      description: DESCRIPTIONS.search_products,
      inputSchema: {
        category: z.string().default("Electronics"),
        min_price: z.number().default(50),
        max_price: z.number().default(500),
        limit: z.number().default(10),
      },
    },
    async (given) => said(await searchProducts(stores, given)),
  );
  server.registerTool(
    "get_user_cart",
    { description: DESCRIPTIONS.get_user_cart, inputSchema: { user_id } },
    async (given) => said(await getUserCart(stores, given)),
  );
  server.registerTool(
    "checkout",
    { description: DESCRIPTIONS.checkout, inputSchema: { user_id, items } },
    async (given) => said(await checkout(stores, given)),
  );
  return server;
}
