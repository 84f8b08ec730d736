use extism_pdk::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Call {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    name: String,
    arguments: Value,
}

#[derive(Deserialize)]
struct Greet {
    name: String,
}

#[plugin_fn]
pub fn list_tools() -> FnResult<Json<Value>> {
    Ok(Json(json!({
        "tools": [{
            "name": "my_servlet_greet",
            "description": "Greets a person by name.",
            "inputSchema": {
                "type": "object",
                "properties": { "name": { "type": "string", "description": "Whom to greet." } },
                "required": ["name"]
            }
        }]
    })))
}

/// The arguments fit the tool's schema: the host has checked them.
#[plugin_fn]
pub fn call_tool(Json(Call { request }): Json<Call>) -> FnResult<Json<Value>> {
    let text = match request.name.as_str() {
        "my_servlet_greet" => {
            let Greet { name } = serde_json::from_value(request.arguments)?;
            format!("Hello, {name}!")
        }
        other => return Err(Error::msg(format!("There is no tool {other}.")).into()),
    };
    Ok(Json(
        json!({ "content": [{ "type": "text", "text": text }] }),
    ))
}
