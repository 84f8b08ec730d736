/**
 * `node backend.ts PORT [REDIS_PORT]`: what the shop's servers ask: its products, and Redis by HTTP (`/redis`): the Redis of
 * that port, or else what stands in for one. A process of its own, so that its CPU time is nobody else's.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { product, PRODUCTS, seeds } from "./data.ts";
import { inMemory } from "./memory.ts";
import { connectRedis } from "./redis.ts";

const [port, redisPort] = process.argv.slice(2).map(Number);
const redis = redisPort === undefined ? inMemory : await connectRedis(redisPort);
const all = [...seeds()];
while (all.length > 0) await redis(all.splice(-1000));

/** Searches by their queries: the products never change. */
const found = new Map<string, object>();

function search(query: URLSearchParams): object {
  const [category, least, most] = [
    query.get("category"),
    query.get("min_price"),
    query.get("max_price"),
  ];
  const products = Array.from({ length: PRODUCTS }, (_, at) => product(at + 1))
    .filter((one) => one.category === category)
    .filter(({ price }) => price >= Number(least) && price <= Number(most))
    .toSorted((a, b) => a.price - b.price);
  const shown = products.slice(0, Number(query.get("limit")));
  return { category, total_found: products.length, products: shown };
}

/** The bill of an order: with taxes, and a discount and no shipping from 100 on. */
function bill({ user_id, items }: any): object {
  const cents = (amount: number) => Math.round(amount * 100) / 100;
  const prices = items.map((one: any) => product(one.product_id).price * one.quantity);
  const subtotal = cents(prices.reduce((sum: number, one: number) => sum + one, 0));
  const isLarge = subtotal >= 100;
  const tax = cents(subtotal * 0.085);
  const discount = isLarge ? cents(subtotal * 0.1) : 0;
  const shipping = isLarge ? 0 : 5.99;
  return {
    order_id: `ORD-${user_id.replace("-", "")}-${items.length}`,
    user_id,
    subtotal,
    tax,
    shipping,
    discount,
    total: cents(subtotal + tax + shipping - discount),
    items_count: items.length,
  };
}

async function sent(request: IncomingMessage): Promise<any> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const { pathname, search: query } = new URL(request.url!, "http://localhost");
  if (pathname === "/redis") return redis(await sent(request));
  if (pathname === "/cart/calculate") return bill(await sent(request));
  if (pathname === "/products/search") {
    if (!found.has(query)) found.set(query, search(new URLSearchParams(query)));
    return found.get(query);
  }
  const id = /^\/products\/(\d+)$/.exec(pathname)?.[1];
  return id === undefined ? { status: "ok" } : product(Number(id));
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = JSON.stringify(await answer(request));
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

createServer((request, response) => void respond(request, response)).listen(port, "127.0.0.1", () =>
  console.log("ready"),
);
