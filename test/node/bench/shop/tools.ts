/** The three tools of the shop, as each server in TypeScript has them. */

/** A command of Redis. */
export type Command = readonly (string | number)[];
export type Reply = string | number | null | Reply[];
/** Sends commands together; gives the reply to each. */
export type Commands = (commands: readonly Command[]) => Promise<Reply[]>;

/** Where the tools find products and Redis. */
export interface Stores {
  /** URL of the product API. */
  api: string;
  redis: Commands;
}

export interface Search {
  category: string;
  min_price: number;
  max_price: number;
  limit: number;
}

export interface Order {
  user_id: string;
  items: { product_id: number; quantity: number }[];
}

/** Redis by HTTP: commands as JSON, replies as JSON. */
export const redisAt =
  (url: string): Commands =>
  (commands: readonly Command[]) =>
    posted(url, commands);

async function posted(url: string, body: unknown): Promise<any> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

const got = async (url: string): Promise<any> => (await fetch(url)).json();

export async function searchProducts({ api, redis }: Stores, given: Search): Promise<object> {
  const query = new URLSearchParams({
    category: given.category,
    min_price: String(given.min_price),
    max_price: String(given.max_price),
    limit: String(given.limit),
  });
  const [found, [popular]] = await Promise.all([
    got(`${api}/products/search?${query}`),
    redis([["ZREVRANGE", "bench:popular", 0, 9]]),
  ]);
  const top = (popular as string[]).map((member) => Number(member.split(":")[1]));
  const ranks = new Map(top.map((id, at) => [id, at + 1]));
  const products = found.products.map(({ id, sku, name, price, rating }: any) => ({
    id,
    sku,
    name,
    price,
    rating,
    popularity_rank: ranks.get(id) ?? 0,
  }));
  const { category } = given;
  return { category, total_found: found.total_found, products, top10_popular_ids: top };
}

export async function getUserCart(
  { api, redis }: Stores,
  { user_id }: { user_id: string },
): Promise<object> {
  const [pairs] = (await redis([["HGETALL", `bench:cart:${user_id}`]])) as [string[]];
  const field = (name: string) => pairs[pairs.indexOf(name) + 1]!;
  const items = JSON.parse(field("items"));
  const [[lines]] = (await Promise.all([
    redis([["LRANGE", `bench:history:${user_id}`, 0, 4]]),
    got(`${api}/products/${items[0].product_id}`),
  ])) as [[string[]], unknown];
  return {
    user_id,
    cart: { items, item_count: items.length, estimated_total: Number(field("total")) },
    recent_history: lines.map((line) => JSON.parse(line)),
  };
}

export async function checkout({ api, redis }: Stores, order: Order): Promise<object> {
  const { user_id, items } = order;
  const now = Date.now();
  const entry = { order_id: `ORD-${user_id}-${now}`, items, ts: Math.floor(now / 1000) };
  const counter = String(Number(user_id.split("-")[1]) % 100).padStart(5, "0");
  const [bill, [count]] = await Promise.all([
    posted(`${api}/cart/calculate`, order),
    redis([
      ["INCR", `bench:ratelimit:user-${counter}`],
      ["RPUSH", `bench:history:${user_id}`, JSON.stringify(entry)],
      ["ZINCRBY", "bench:popular", 1, `product:${items[0]!.product_id}`],
    ]),
  ]);
  return {
    order_id: bill.order_id,
    user_id,
    total: bill.total,
    items_count: items.length,
    rate_limit_count: count,
    status: "confirmed",
  };
}

/** Descriptions of the tools, by their names. */
export const DESCRIPTIONS = {
  search_products: "Searches products by category and price, with their popularity.",
  get_user_cart: "Gets a user's cart and latest orders.",
  checkout: "Orders items: totals them, and records the order.",
};
