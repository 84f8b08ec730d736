//! Settings and reports that pass between the driver and each client's program; see ../README.md.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub type Step = Result<(), String>;

/// The error of a step that the client has no means for.
pub const NOT_OFFERED: &str = "not offered";

pub fn setting(name: &str) -> String {
    std::env::var(format!("CLIENT_{name}")).unwrap_or_default()
}

pub fn stay() -> Duration {
    Duration::from_secs_f64(setting("STAY_SECONDS").parse().unwrap_or(1.0))
}

/// How long, in seconds, a notification of the session's own may be on its way: the server has clients that
/// are silent for long come back less often.
pub fn patience() -> u64 {
    setting("PATIENCE_SECONDS").parse().unwrap_or(15)
}

#[derive(Default)]
pub struct Cells(BTreeMap<String, String>);

impl Cells {
    /// Fills one cell of the matrix; a step that takes too long has failed.
    pub async fn fill(&mut self, name: &str, seconds: u64, step: impl Future<Output = Step>) {
        let ended = tokio::time::timeout(Duration::from_secs(seconds), step).await;
        let cell = match ended.unwrap_or_else(|_| Err(format!("nothing after {seconds} s"))) {
            Ok(()) => "ok".into(),
            Err(error) if error == NOT_OFFERED => error,
            Err(error) => format!("failed: {error}"),
        };
        self.0.insert(name.into(), cell);
    }

    pub fn report(&self) {
        println!("{}", serde_json::to_string(&self.0).unwrap_or_default());
    }
}

pub fn expect(holds: bool, found: &impl Debug) -> Step {
    if holds { Ok(()) } else { Err(format!("found {found:?}")) }
}

pub fn from_json<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

pub fn to_json(value: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// Asks something of the driver: to break streams, to end the session, to sign in.
pub async fn tell(what: &str, body: &str) -> Result<String, String> {
    let fault = |error: reqwest::Error| error.to_string();
    let url = format!("{}/{what}", setting("CONTROL"));
    let request = reqwest::Client::new().post(url).body(body.to_string());
    let response = request.send().await.map_err(fault)?;
    let is_done = response.status().is_success();
    let text = response.text().await.map_err(fault)?;
    if is_done { Ok(text) } else { Err(text) }
}

pub async fn within(seconds: u64, holds: impl Fn() -> bool) -> bool {
    for _ in 0..seconds * 20 {
        if holds() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    holds()
}
