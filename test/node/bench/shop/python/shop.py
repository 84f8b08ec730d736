"""The shop with the official Python SDK or with FastMCP: without sessions, by uvicorn in four processes, as the neutral benchmark
has it. `PEER` says which of the two; Redis is reached by its own protocol, or by HTTP where none is installed."""

import json
import os
import time
from asyncio import gather

import httpx
from redis.asyncio import Redis

PROCESSES = 4
API, REDIS = os.environ["API"], os.environ["REDIS"]
http = httpx.AsyncClient(timeout=10)

if os.environ["PEER"] == "fastmcp":
    from fastmcp import FastMCP

    mcp = FastMCP("shop")
    app = mcp.http_app(stateless_http=True, json_response=True)
else:
    from mcp.server.mcpserver import MCPServer

    mcp = MCPServer("shop", log_level="WARNING")
    # As in a container: any name may be asked for.
    app = mcp.streamable_http_app(stateless_http=True, json_response=True, host="0.0.0.0")


if REDIS.startswith("http"):

    async def redis(*commands):
        return (await http.post(REDIS, json=commands)).json()

else:
    client = Redis.from_url(REDIS, decode_responses=True)

    async def redis(*commands):
        pipe = client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        return await pipe.execute()


@mcp.tool()
async def search_products(
    category: str = "Electronics", min_price: float = 50, max_price: float = 500, limit: int = 10
) -> str:
    "Searches products by category and price, with their popularity."
    query = {"category": category, "min_price": min_price, "max_price": max_price, "limit": limit}
    found, (popular,) = await gather(
        http.get(f"{API}/products/search", params=query),
        redis(["ZREVRANGE", "bench:popular", 0, 9]),
    )
    found = found.json()
    top = [int(member.split(":")[1]) for member in popular]
    ranks = {id: at + 1 for at, id in enumerate(top)}
    products = [
        {key: one[key] for key in ("id", "sku", "name", "price", "rating")}
        | {"popularity_rank": ranks.get(one["id"], 0)}
        for one in found["products"]
    ]
    total = found["total_found"]
    result = {"category": category, "total_found": total, "products": products}
    return json.dumps({**result, "top10_popular_ids": top})


@mcp.tool()
async def get_user_cart(user_id: str = "user-00042") -> str:
    "Gets a user's cart and latest orders."
    (cart,) = await redis(["HGETALL", f"bench:cart:{user_id}"])
    if isinstance(cart, list):
        cart = dict(zip(cart[::2], cart[1::2]))
    items = json.loads(cart["items"])
    (lines,), _ = await gather(
        redis(["LRANGE", f"bench:history:{user_id}", 0, 4]),
        http.get(f"{API}/products/{items[0]['product_id']}"),
    )
    shown = {"items": items, "item_count": len(items), "estimated_total": float(cart["total"])}
    orders = [json.loads(line) for line in lines]
    return json.dumps({"user_id": user_id, "cart": shown, "recent_history": orders})


@mcp.tool()
async def checkout(items: list[dict], user_id: str = "user-00042") -> str:
    "Orders items: totals them, and records the order."
    now = int(time.time())
    entry = {"order_id": f"ORD-{user_id}-{now}", "items": items, "ts": now}
    counter = int(user_id.split("-")[1]) % 100
    bill, (count, *_) = await gather(
        http.post(f"{API}/cart/calculate", json={"user_id": user_id, "items": items}),
        redis(
            ["INCR", f"bench:ratelimit:user-{counter:05d}"],
            ["RPUSH", f"bench:history:{user_id}", json.dumps(entry)],
            ["ZINCRBY", "bench:popular", 1, f"product:{items[0]['product_id']}"],
        ),
    )
    bill = bill.json()
    result = {"order_id": bill["order_id"], "user_id": user_id, "total": bill["total"]}
    counts = {"items_count": len(items), "rate_limit_count": count}
    return json.dumps({**result, **counts, "status": "confirmed"})


if __name__ == "__main__":
    import uvicorn

    port = int(os.environ["PORT"])
    uvicorn.run("shop:app", host="127.0.0.1", port=port, workers=PROCESSES, log_level="warning")
