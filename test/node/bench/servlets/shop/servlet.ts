/** The three tools of the neutral benchmark, which ask an API and Redis by HTTP. */
import { defineServlet, type Context } from "edge-servlets/servlet";
import * as z from "zod/mini";
import {
  checkout,
  DESCRIPTIONS,
  getUserCart,
  redisAt,
  searchProducts,
  type Stores,
} from "../../shop/tools.ts";

const stores = (context: Context): Stores => ({
  api: context.config("api")!,
  redis: redisAt(context.config("redis")!),
});

const said = (result: object, context: Context) =>
  JSON.stringify({ ...result, server_type: context.config("server_type") });
const user_id = z._default(z.string(), "user-00042");

export default defineServlet({
  tools: {
    search_products: {
      description: DESCRIPTIONS.search_products,
      input: z.object({
        category: z._default(z.string(), "Electronics"),
        min_price: z._default(z.number(), 50),
        max_price: z._default(z.number(), 500),
        limit: z._default(z.number(), 10),
      }),
      handler: async (given, context) =>
        said(await searchProducts(stores(context), given), context),
    },
    get_user_cart: {
      description: DESCRIPTIONS.get_user_cart,
      input: z.object({ user_id }),
      handler: async (given, context) => said(await getUserCart(stores(context), given), context),
    },
    checkout: {
      description: DESCRIPTIONS.checkout,
      input: z.object({
        user_id,
        items: z._default(z.array(z.object({ product_id: z.number(), quantity: z.number() })), [
          { product_id: 42, quantity: 2 },
          { product_id: 1337, quantity: 1 },
        ]),
      }),
      handler: async (given, context) => said(await checkout(stores(context), given), context),
    },
  },
});
