"""The three tools of the neutral benchmark, which ask an API and Redis by HTTP."""

import json
import time
from asyncio import gather
from typing import Any, TypedDict
from urllib.parse import urlencode

from edge_servlets import Context, fetch, tool


class Item(TypedDict):
    product_id: int
    quantity: int


async def got(ctx: Context, path: str) -> Any:
    return (await fetch(f"{ctx.config('api')}{path}")).json()


async def redis(ctx: Context, *commands: list[Any]) -> list[Any]:
    """Sends commands together; gives the reply to each."""
    return (await fetch(str(ctx.config("redis")), method="POST", json=commands)).json()


@tool
async def search_products(
    ctx: Context,
    category: str = "Electronics",
    min_price: float = 50,
    max_price: float = 500,
    limit: int = 10,
) -> str:
    "Searches products by category and price, with their popularity."
    query = {"category": category, "min_price": min_price, "max_price": max_price, "limit": limit}
    found, (popular,) = await gather(
        got(ctx, f"/products/search?{urlencode(query)}"),
        redis(ctx, ["ZREVRANGE", "bench:popular", 0, 9]),
    )
    top = [int(member.split(":")[1]) for member in popular]
    ranks = {id: at + 1 for at, id in enumerate(top)}
    products = [
        {key: one[key] for key in ("id", "sku", "name", "price", "rating")}
        | {"popularity_rank": ranks.get(one["id"], 0)}
        for one in found["products"]
    ]
    total = found["total_found"]
    return json.dumps(
        {
            "category": category,
            "total_found": total,
            "products": products,
            "top10_popular_ids": top,
        }
    )


@tool
async def get_user_cart(ctx: Context, user_id: str = "user-00042") -> str:
    "Gets a user's cart and latest orders."
    (pairs,) = await redis(ctx, ["HGETALL", f"bench:cart:{user_id}"])
    cart = dict(zip(pairs[::2], pairs[1::2], strict=True))
    items = json.loads(cart["items"])
    (lines,), _ = await gather(
        redis(ctx, ["LRANGE", f"bench:history:{user_id}", 0, 4]),
        got(ctx, f"/products/{items[0]['product_id']}"),
    )
    return json.dumps(
        {
            "user_id": user_id,
            "cart": {
                "items": items,
                "item_count": len(items),
                "estimated_total": float(cart["total"]),
            },
            "recent_history": [json.loads(line) for line in lines],
        }
    )


@tool
async def checkout(ctx: Context, items: list[Item], user_id: str = "user-00042") -> str:
    "Orders items: totals them, and records the order."
    now = int(time.time())
    entry = {"order_id": f"ORD-{user_id}-{now}", "items": items, "ts": now}
    counter = int(user_id.split("-")[1]) % 100
    order = {"user_id": user_id, "items": items}
    bill, (count, *_) = await gather(
        fetch(f"{ctx.config('api')}/cart/calculate", method="POST", json=order),
        redis(
            ctx,
            ["INCR", f"bench:ratelimit:user-{counter:05d}"],
            ["RPUSH", f"bench:history:{user_id}", json.dumps(entry)],
            ["ZINCRBY", "bench:popular", 1, f"product:{items[0]['product_id']}"],
        ),
    )
    return json.dumps(
        {
            "order_id": bill.json()["order_id"],
            "user_id": user_id,
            "total": bill.json()["total"],
            "items_count": len(items),
            "rate_limit_count": count,
            "status": "confirmed",
        }
    )
