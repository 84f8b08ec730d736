/** The data of the neutral benchmark: https://github.com/http4k/benchmark-mcp-servers-v2 (`ADDING_SERVERS.md`). */
import type { Command } from "./tools.ts";

export const PRODUCTS = 100_000;
/** Users that have a cart and orders. */
const USERS = 100;
const ORDERS = 20;

const CATEGORIES =
  "Electronics Books Clothing Sports Home Garden Toys Food Beauty Automotive Music Movies Games Office Health Pets Travel Tools Jewelry Baby".split(
    " ",
  );
const BRANDS = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota"];
const TAGS = ["sale", "new", "featured", "bestseller", "clearance", "limited", "popular"];

const cents = (amount: number) => Math.round(amount * 100) / 100;

export function product(id: number) {
  const at = id - 1;
  const category = CATEGORIES[at % CATEGORIES.length]!;
  const brand = BRANDS[at % BRANDS.length]!;
  const number = String(id).padStart(6, "0");
  return {
    id,
    sku: `SKU-${number}`,
    name: `${brand} ${category} Item ${id}`,
    category,
    brand,
    price: cents(1 + (at % 99_900) / 100),
    stock: at % 501,
    rating: 1 + (at % 40) / 10,
    tags: Array.from({ length: 2 + (at % 3) }, (_, nth) => TAGS[(at + nth) % TAGS.length]!),
    weight: cents((1 + (at % 100)) * 0.1),
    description: `Quality ${category} by ${brand}. SKU ${number}.`,
  };
}

/** The name of a user, from 1. */
export const userName = (user: number) => `user-${String(user).padStart(5, "0")}`;

const productOf = (seed: number) => (seed % PRODUCTS) + 1;

/** The commands that fill Redis: carts, orders, and how popular each product is. */
export function* seeds(): Generator<Command> {
  for (let user = 1; user <= USERS; user++) {
    const name = userName(user);
    const items = [7, 13].map((factor) => ({ product_id: productOf(user * factor), qty: 1 }));
    const total = items.reduce((sum, { product_id }) => sum + product(product_id).price, 0);
    const fields = { user_id: name, items: JSON.stringify(items), total: total.toFixed(2) };
    yield ["HSET", `bench:cart:${name}`, ...Object.entries(fields).flat()];
    for (let nth = 1; nth <= ORDERS; nth++) {
      const order = {
        order_id: `ORD-${name}-${nth}`,
        product_id: productOf(user * nth * 7),
        qty: 1 + (nth % 3),
        price: cents((((user * nth * 13) % 9999) + 1) / 100),
        ts: 1_740_000_000 + user * 86_400 + nth * 3600,
      };
      yield ["RPUSH", `bench:history:${name}`, JSON.stringify(order)];
    }
  }
  for (let id = 1; id <= PRODUCTS; id++)
    yield ["ZADD", "bench:popular", (id * 7) % 10_000, `product:${id}`];
}
