//! The shop with the official Rust SDK, without sessions.

use std::collections::HashMap;
use std::env::var;
use std::error::Error;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use redis::aio::MultiplexedConnection;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ServerCapabilities, ServerConfig};
use rmcp::schemars::{self, JsonSchema};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Deserialize, JsonSchema)]
struct Search {
    category: String,
    min_price: f64,
    max_price: f64,
    limit: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Cart {
    user_id: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Item {
    product_id: u32,
    quantity: u32,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Order {
    user_id: String,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Found {
    total_found: u32,
    products: Vec<Product>,
}

#[derive(Deserialize, Serialize)]
struct Product {
    id: u32,
    sku: String,
    name: String,
    price: f64,
    rating: f64,
    #[serde(default)]
    popularity_rank: usize,
}

#[derive(Deserialize)]
struct Bill {
    order_id: String,
    total: f64,
}

/// Redis, by its own protocol, or by HTTP where its address is one of HTTP.
#[derive(Clone)]
enum Store {
    Redis(MultiplexedConnection),
    Http(reqwest::Client, String),
}

impl Store {
    async fn connect(address: String, client: &reqwest::Client) -> Result<Self, Failure> {
        if address.starts_with("http") {
            return Ok(Self::Http(client.clone(), address));
        }
        let server = redis::Client::open(address)?;
        Ok(Self::Redis(
            server.get_multiplexed_async_connection().await?,
        ))
    }

    /// Sends commands; returns their replies.
    async fn send(&self, commands: Vec<Vec<String>>) -> Result<Vec<Value>, Failure> {
        match self {
            Self::Http(client, url) => Ok(client
                .post(url)
                .json(&commands)
                .send()
                .await?
                .json()
                .await?),
            Self::Redis(connection) => {
                let mut pipeline = redis::pipe();
                for command in &commands {
                    pipeline.cmd(&command[0]).arg(&command[1..]);
                }
                let replies: Vec<redis::Value> =
                    pipeline.query_async(&mut connection.clone()).await?;
                Ok(replies.into_iter().map(as_json).collect())
            }
        }
    }
}

fn as_json(reply: redis::Value) -> Value {
    match reply {
        redis::Value::Int(number) => number.into(),
        redis::Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into(),
        redis::Value::Array(all) => all.into_iter().map(as_json).collect(),
        _ => Value::Null,
    }
}

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn texts(reply: &Value) -> impl Iterator<Item = &str> {
    reply
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[derive(Clone)]
struct Shop {
    api: Arc<str>,
    client: reqwest::Client,
    store: Store,
}

impl Shop {
    async fn found(&self, given: &Search) -> Result<Found, Failure> {
        let query = [
            ("category", given.category.clone()),
            ("min_price", given.min_price.to_string()),
            ("max_price", given.max_price.to_string()),
            ("limit", given.limit.to_string()),
        ];
        let request = self
            .client
            .get(format!("{}/products/search", self.api))
            .query(&query);
        Ok(request.send().await?.json().await?)
    }

    async fn search(&self, given: Search) -> Result<Value, Failure> {
        let popular = self
            .store
            .send(vec![command(&["ZREVRANGE", "bench:popular", "0", "9"])]);
        let (found, popular) = tokio::try_join!(self.found(&given), popular)?;
        let top: Vec<u32> = texts(&popular[0])
            .filter_map(|member| member.strip_prefix("product:")?.parse().ok())
            .collect();
        let ranks: HashMap<u32, usize> = top
            .iter()
            .enumerate()
            .map(|(at, &id)| (id, at + 1))
            .collect();
        let mut products = found.products;
        for product in &mut products {
            product.popularity_rank = ranks.get(&product.id).copied().unwrap_or(0);
        }
        Ok(json!({
            "category": given.category,
            "total_found": found.total_found,
            "products": products,
            "top10_popular_ids": top,
        }))
    }

    async fn cart(&self, Cart { user_id }: Cart) -> Result<Value, Failure> {
        let key = format!("bench:cart:{user_id}");
        let replies = self.store.send(vec![command(&["HGETALL", &key])]).await?;
        let pairs: Vec<&str> = texts(&replies[0]).collect();
        let fields: HashMap<&str, &str> = pairs.chunks_exact(2).map(|p| (p[0], p[1])).collect();
        let items: Value = serde_json::from_str(fields.get("items").ok_or("no cart")?)?;
        let key = format!("bench:history:{user_id}");
        let lines = self.store.send(vec![command(&["LRANGE", &key, "0", "4"])]);
        let url = format!("{}/products/{}", self.api, items[0]["product_id"]);
        let product = async {
            let answer = self.client.get(url).send().await?;
            Ok::<Product, Failure>(answer.json().await?)
        };
        let (lines, _) = tokio::try_join!(lines, product)?;
        let history: Vec<Value> = texts(&lines[0])
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let total: f64 = fields.get("total").ok_or("no total")?.parse()?;
        let count = items.as_array().map_or(0, Vec::len);
        Ok(json!({
            "user_id": user_id,
            "cart": { "items": items, "item_count": count, "estimated_total": total },
            "recent_history": history,
        }))
    }

    async fn bill(&self, order: &Order) -> Result<Bill, Failure> {
        let url = format!("{}/cart/calculate", self.api);
        Ok(self
            .client
            .post(url)
            .json(order)
            .send()
            .await?
            .json()
            .await?)
    }

    async fn order(&self, order: Order) -> Result<Value, Failure> {
        let Order { user_id, items } = &order;
        let first = items.first().ok_or("no items")?.product_id;
        let number: u32 = user_id.rsplit('-').next().unwrap_or_default().parse()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let entry = json!({
            "order_id": format!("ORD-{user_id}-{}", now.as_millis()),
            "items": items,
            "ts": now.as_secs(),
        });
        let counted = self.store.send(vec![
            command(&["INCR", &format!("bench:ratelimit:user-{:05}", number % 100)]),
            command(&[
                "RPUSH",
                &format!("bench:history:{user_id}"),
                &entry.to_string(),
            ]),
            command(&["ZINCRBY", "bench:popular", "1", &format!("product:{first}")]),
        ]);
        let (bill, counted) = tokio::try_join!(self.bill(&order), counted)?;
        Ok(json!({
            "order_id": bill.order_id,
            "user_id": user_id,
            "total": bill.total,
            "items_count": items.len(),
            "rate_limit_count": counted[0],
            "status": "confirmed",
        }))
    }
}

fn said(result: Result<Value, Failure>) -> Result<CallToolResult, ErrorData> {
    match result {
        Ok(value) => Ok(CallToolResult::success(vec![ContentBlock::text(
            value.to_string(),
        )])),
        Err(failure) => Err(ErrorData::internal_error(failure.to_string(), None)),
    }
}

#[tool_router]
impl Shop {
    #[tool(description = "Searches products by category and price, with their popularity.")]
    async fn search_products(
        &self,
        Parameters(given): Parameters<Search>,
    ) -> Result<CallToolResult, ErrorData> {
        said(self.search(given).await)
    }

    #[tool(description = "Gets a user's cart and latest orders.")]
    async fn get_user_cart(
        &self,
        Parameters(given): Parameters<Cart>,
    ) -> Result<CallToolResult, ErrorData> {
        said(self.cart(given).await)
    }

    #[tool(description = "Orders items: totals them, and records the order.")]
    async fn checkout(
        &self,
        Parameters(given): Parameters<Order>,
    ) -> Result<CallToolResult, ErrorData> {
        said(self.order(given).await)
    }
}

#[tool_handler]
impl ServerHandler for Shop {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let client = reqwest::Client::new();
    let store = Store::connect(var("REDIS")?, &client).await?;
    let shop = Shop {
        api: var("API")?.into(),
        client,
        store,
    };
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(shop.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", var("PORT")?)).await?;
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}
