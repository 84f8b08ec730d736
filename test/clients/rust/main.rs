//! The official Rust SDK against the server: https://github.com/modelcontextprotocol/rust-sdk

mod cells;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use cells::{Cells, Step, expect, from_json, patience, setting, stay, tell, to_json, within};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ErrorData, Implementation, ProgressNotificationParam, ProtocolVersion,
    ServerNotification,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationRequest, AuthorizationSession,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// The user's answer when the server asks.
#[derive(Clone, Copy)]
enum Answer {
    Accept,
    Decline,
    Mistake,
    Late,
}

#[derive(Clone)]
struct Handler {
    answer: Arc<Mutex<Answer>>,
    progressed: Arc<AtomicUsize>,
    changed: Arc<AtomicUsize>,
    tasks: bool,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(Default::default());
        if self.tasks {
            capabilities.extensions = from_json(json!({"io.modelcontextprotocol/tasks": {}})).ok();
        }
        ClientConfig::new(capabilities, Implementation::new("matrix-rust", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        _params: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = *self.answer.lock().await;
        let accepted = json!({"action": "accept", "content": {"approve": true}});
        let result = match answer {
            Answer::Accept => accepted,
            Answer::Decline => json!({"action": "decline"}),
            Answer::Mistake => json!({"action": "accept", "content": {"approve": "perhaps"}}),
            Answer::Late => {
                let fault = |error: String| ErrorData::internal_error(error, None);
                tell("drop", "calls").await.map_err(fault)?;
                tokio::time::sleep(Duration::from_secs(5)).await;
                accepted
            }
        };
        from_json(result).map_err(|error| ErrorData::internal_error(error, None))
    }

    async fn on_progress(
        &self,
        _params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progressed.fetch_add(1, Relaxed);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.fetch_add(1, Relaxed);
    }
}

type Service = RunningService<RoleClient, Handler>;

fn is_modern() -> bool {
    setting("REVISION").as_str() >= "2026-07-28"
}

fn handler(tasks: bool) -> Handler {
    Handler {
        answer: Arc::new(Mutex::new(Answer::Accept)),
        progressed: Default::default(),
        changed: Default::default(),
        tasks,
    }
}

fn lifecycle() -> Result<ClientLifecycleMode, String> {
    if !is_modern() {
        return Ok(ClientLifecycleMode::Initialize);
    }
    let version: ProtocolVersion = from_json(json!(setting("REVISION")))?;
    Ok(ClientLifecycleMode::Discover { preferred_versions: vec![version] })
}

async fn connect(url: &str, key: Option<&str>, handler: Handler) -> Result<Service, String> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(key) = key {
        config = config.auth_header(key);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    let connected = handler.serve_with_lifecycle(transport, lifecycle()?).await;
    connected.map_err(|error| error.to_string())
}

async fn call(service: &Service, name: &str, arguments: Value) -> Result<Value, String> {
    let params = from_json(json!({"name": name, "arguments": arguments}))?;
    to_json(service.call_tool(params).await.map_err(|error| error.to_string())?)
}

async fn greets(service: &Service) -> Step {
    let result = call(service, "greet", json!({"name": "Ada"})).await?;
    expect(result["content"][0]["text"] == "Hello, Ada!", &result)
}

async fn answered(service: &Service, expected: &str, answer: Answer) -> Step {
    *service.service().answer.lock().await = answer;
    let result = call(service, "request_approval", json!({"what": "Paint the bridge"})).await?;
    expect(result["structuredContent"]["outcome"] == expected, &result)
}

/// Opens the stream of changes, which is open by itself in the revisions that have sessions.
async fn listen(service: &Service) -> Step {
    if !is_modern() {
        return Ok(());
    }
    let filter = from_json(json!({"toolsListChanged": true}))?;
    let mut stream = service.peer().listen(filter).await.map_err(|error| error.to_string())?;
    let changed = service.service().changed.clone();
    tokio::spawn(async move {
        while let Ok(Some(notice)) = stream.next().await {
            if matches!(notice, ServerNotification::ToolListChangedNotification(_)) {
                changed.fetch_add(1, Relaxed);
            }
        }
    });
    Ok(())
}

async fn hears_change(service: &Service) -> Step {
    listen(service).await?;
    let changed = &service.service().changed;
    let before = changed.load(Relaxed);
    call(service, "test_trigger_tool_change", json!({})).await?;
    let heard = within(patience(), || changed.load(Relaxed) > before).await;
    expect(heard, &"tools/list_changed did not come")
}

/// A task of the extension, as its own client: one that declares it gets tasks it does not ask for.
async fn task() -> Step {
    if !is_modern() {
        return Err(cells::NOT_OFFERED.into());
    }
    let service = connect(&setting("URL"), None, handler(true)).await?;
    let args = json!({"name": "slow_compute", "arguments": {"seconds": 1, "label": "it"}});
    let params: CallToolRequestParams = from_json(args)?;
    let response = service.peer().call_tool_once(params).await.map_err(|error| error.to_string())?;
    let CallToolResponse::Task(begun) = response else {
        return Err("the call did not become a task".into());
    };
    let id = to_json(begun)?["taskId"].clone();
    for _ in 0..100 {
        let params = from_json(json!({"taskId": id}))?;
        let status = service.peer().get_task(params).await.map_err(|error| error.to_string())?;
        let status = to_json(status)?;
        if status["status"] == "completed" {
            return expect(status.to_string().contains("Computed it"), &status);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err("the task did not end".into())
}

async fn use_it(cells: &mut Cells, service: &Service) {
    let fault = |error: rmcp::ServiceError| error.to_string();
    cells
        .fill("lists", 30, async {
            let tools = service.list_all_tools().await.map_err(fault)?.len();
            let resources = service.list_all_resources().await.map_err(fault)?.len();
            let templates = service.list_all_resource_templates().await.map_err(fault)?.len();
            let prompts = service.list_all_prompts().await.map_err(fault)?.len();
            let found = (tools, resources, templates, prompts);
            expect(tools >= 20 && resources >= 3 && templates >= 2 && prompts >= 3, &found)
        })
        .await;
    cells.fill("call", 30, greets(service)).await;
    cells
        .fill("structured", 30, async {
            let result = call(service, "lookup_status", json!({"code": 404})).await?;
            expect(result["structuredContent"]["name"] == "Not Found", &result)
        })
        .await;
    cells
        .fill("image", 30, async {
            let result = call(service, "draw_chart", json!({"values": [1, 3, 2]})).await?;
            let image = &result["content"][1]["data"];
            // The first bytes of a PNG in base64.
            expect(image.as_str().is_some_and(|data| data.starts_with("iVBORw0KGgo")), &"no PNG")
        })
        .await;
    cells
        .fill("progress", 30, async {
            let progressed = &service.service().progressed;
            let before = progressed.load(Relaxed);
            call(service, "wait", json!({"seconds": 2.2})).await?;
            expect(progressed.load(Relaxed) > before, &"no progress came")
        })
        .await;
    cells
        .fill("read", 30, async {
            let params = from_json(json!({"uri": "http-status://503"}))?;
            let result = to_json(service.read_resource(params).await.map_err(fault)?)?;
            expect(result.to_string().contains("503"), &result)
        })
        .await;
    cells
        .fill("prompt", 30, async {
            let asked = json!({"name": "explain_status", "arguments": {"code": "418"}});
            let result = service.get_prompt(from_json(asked)?).await.map_err(fault)?;
            let result = to_json(result)?;
            expect(result.to_string().contains("418"), &result)
        })
        .await;
    cells
        .fill("complete", 30, async {
            let found = service.complete_prompt_simple("explain_status", "code", "50").await;
            let values = found.map_err(fault)?;
            expect(values.contains(&"503".to_string()), &values)
        })
        .await;
    cells.fill("answer", 30, answered(service, "approved", Answer::Accept)).await;
    cells.fill("refuse", 30, answered(service, "rejected", Answer::Decline)).await;
    cells
        .fill("wrong", 30, async {
            *service.service().answer.lock().await = Answer::Mistake;
            let what = json!({"what": "Paint the bridge"});
            if let Ok(result) = call(service, "request_approval", what).await {
                expect(result["isError"] == true, &result)?;
            }
            greets(service).await
        })
        .await;
    cells.fill("task", 30, task()).await;
    cells
        .fill("cancel", 30, async {
            let long = call(service, "wait", json!({"seconds": 20}));
            let ended = tokio::time::timeout(Duration::from_secs(1), long).await;
            expect(ended.is_err(), &"the call was not cancelled")?;
            greets(service).await
        })
        .await;
}

async fn hold(cells: &mut Cells, service: &Service) {
    cells.fill("changes", 30 + patience(), hears_change(service)).await;
    cells
        .fill("stay", stay().as_secs() + 90 + patience(), async {
            tokio::time::sleep(stay()).await;
            greets(service).await?;
            hears_change(service).await
        })
        .await;
    cells.fill("late", 30, answered(service, "approved", Answer::Late)).await;
    cells
        .fill("drops", 60 + patience(), async {
            let long = call(service, "wait", json!({"seconds": 3}));
            let drop = async {
                // The stream begins with the first progress, after a second.
                tokio::time::sleep(Duration::from_millis(1500)).await;
                tell("drop", "").await
            };
            let (ended, dropped) = tokio::join!(long, drop);
            dropped?;
            if let Err(error) = ended {
                // Without a session a call ends with its stream.
                expect(is_modern(), &format!("the call that lost its stream: {error}"))?;
            }
            greets(service).await?;
            tokio::time::sleep(Duration::from_secs(2)).await;
            hears_change(service).await
        })
        .await;
    cells
        .fill("gone", 30, async {
            if is_modern() {
                return Err(cells::NOT_OFFERED.into());
            }
            tell("end", "").await?;
            // By default it begins another session.
            match greets(service).await {
                Err(error) if !error.contains("ession") => Err(error),
                _ => Ok(()),
            }
        })
        .await;
}

async fn sign_in(cells: &mut Cells) {
    let url = setting("SIGNED_URL");
    cells
        .fill("key", 30, async {
            let refused = connect(&url, None, handler(false)).await.is_err();
            expect(refused, &"it connects without a key")?;
            let service = connect(&url, Some(&setting("KEY")), handler(false)).await?;
            greets(&service).await
        })
        .await;
    cells.fill("oauth", 60, with_oauth(&url)).await;
    cells.fill("team", 60, with_oauth(&setting("TEAM_URL"))).await;
}

/// Signs in with the client's own OAuth code, and calls.
async fn with_oauth(url: &str) -> Step {
    let fault = |error: rmcp::transport::AuthError| error.to_string();
    let callback = "http://127.0.0.1:8899/callback";
    let manager = AuthorizationManager::new_allowing_private_addresses(url);
    let mut manager = manager.await.map_err(fault)?;
    let metadata = manager.resolve_metadata().await.map_err(fault)?;
    manager.set_metadata(metadata.metadata);
    let request = AuthorizationRequest::new(callback).with_client_name("matrix-rust");
    let session = AuthorizationSession::new(manager, request).await;
    let session = session.map_err(|(_, error)| error.to_string())?;
    let back = tell("browse", session.get_authorization_url()).await?;
    session.handle_callback_url(&back).await.map_err(fault)?;
    let client = AuthClient::new(reqwest::Client::new(), session.auth_manager);
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let connected = handler(false).serve_with_lifecycle(transport, lifecycle()?).await;
    greets(&connected.map_err(|error| error.to_string())?).await
}

#[tokio::main]
async fn main() {
    let mut cells = Cells::default();
    let mut connected = None;
    cells
        .fill("connect", 30, async {
            let service = connect(&setting("URL"), None, handler(false)).await?;
            connected = Some(service);
            Ok(())
        })
        .await;
    if let Some(service) = connected {
        use_it(&mut cells, &service).await;
        hold(&mut cells, &service).await;
        sign_in(&mut cells).await;
    }
    cells.report();
}
