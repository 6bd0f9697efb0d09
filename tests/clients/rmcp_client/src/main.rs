//! Drives the server with the crate `rmcp`.
//!
//! usage: rmcp-client MODE ROOT OTHER SERVER [ARGUMENT...], where MODE is `legacy`, `auto` or `2026-07-28`, and ROOT the
//! directory that is offered as a root, OTHER the one that is offered in its place later. Prints one line of JSON: the
//! revision spoken, and what was tried with how it went.

#![allow(deprecated, reason = "the crate deprecates roots and logging, which clients still have")]

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

type Outcome = Result<String, String>;

struct Handler {
    has_roots: bool,
    offered: Arc<Mutex<String>>,
    roots_asked: Arc<AtomicUsize>,
    progress: UnboundedSender<ProgressNotificationParam>,
    messages: Arc<Mutex<Vec<Value>>>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = if self.has_roots { json!({"roots": {"listChanged": true}}) } else { json!({}) };
        let capabilities = serde_json::from_value(capabilities).unwrap();
        ClientConfig::new(capabilities, Implementation::new("allowexec-test", "0"))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.roots_asked.fetch_add(1, Ordering::SeqCst);
        Ok(ListRootsResult::new(vec![Root::new(file_uri(&self.offered.lock().unwrap()))]))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.send(params).ok();
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.messages.lock().unwrap().push(params.data);
    }
}

fn file_uri(path: &str) -> String {
    let escaped = path.bytes().map(|byte| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("file://{}", escaped.collect::<String>())
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("{value}") };
    object
}

fn params(arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new("execute_command").with_arguments(object(arguments))
}

fn expect(condition: bool, seen: impl std::fmt::Debug) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("unexpected: {seen:?}")) }
}

fn text(result: &CallToolResult) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

async fn step(tried: &mut Map<String, Value>, name: &str, work: impl Future<Output = Outcome>) {
    let outcome = match tokio::time::timeout(Duration::from_secs(15), work).await {
        Ok(Ok(how)) => how,
        Ok(Err(why)) => format!("FAILED: {why}"),
        Err(_) => "FAILED: no end in 15 s".to_owned(),
    };
    tried.insert(name.to_owned(), json!(outcome));
}

fn ok() -> Outcome {
    Ok("ok".to_owned())
}

type Client = RunningService<RoleClient, Handler>;

async fn call(client: &Client, arguments: Value) -> Result<CallToolResult, String> {
    client.call_tool(params(arguments)).await.map_err(|error| error.to_string())
}

async fn connect(mode: &str, server: &[String], handler: Handler) -> Result<Client, String> {
    let mut command = tokio::process::Command::new(&server[0]);
    command.args(&server[1..]);
    let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match mode {
        "legacy" => ClientLifecycleMode::Initialize,
        "auto" => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
        _ => ClientLifecycleMode::Discover { preferred_versions },
    };
    handler.serve_with_lifecycle(transport, lifecycle).await.map_err(|error| error.to_string())
}

async fn cancel(mode: &str, server: &[String]) -> Outcome {
    // The crate answers `input_required` for `call_tool` alone; a client without roots is asked for nothing.
    let (sender, mut progress) = unbounded_channel();
    let handler = Handler {
        has_roots: false,
        offered: Arc::default(),
        roots_asked: Arc::default(),
        progress: sender,
        messages: Arc::default(),
    };
    let client = connect(mode, server, handler).await?;
    let request = ClientRequest::CallToolRequest(Request::new(params(json!({"command": "sleep 299"}))));
    let options = PeerRequestOptions::no_options();
    let handle = client.send_cancellable_request(request, options).await.map_err(|error| error.to_string())?;
    progress.recv().await.ok_or("no progress")?;
    handle.cancel(Some("test".to_owned())).await.map_err(|error| error.to_string())?;
    client.list_all_tools().await.map_err(|error| error.to_string())?;
    client.cancel().await.map_err(|error| error.to_string())?;
    ok()
}

async fn hear(client: &Client, progress: &mut UnboundedReceiver<ProgressNotificationParam>) -> Outcome {
    while progress.try_recv().is_ok() {}
    call(client, json!({"command": "sh -c 'echo tick; sleep 2.4'"})).await?;
    let mut seen = Vec::new();
    while let Ok(one) = progress.try_recv() {
        seen.push(one);
    }
    expect(!seen.is_empty() && seen.is_sorted_by(|a, b| a.progress < b.progress), &seen)?;
    expect(seen[0].message.as_deref() == Some("tick"), &seen)?;
    ok()
}

async fn prompts(client: &Client) -> Outcome {
    let prompts = client.list_all_prompts().await.map_err(|error| error.to_string())?;
    expect(prompts.len() == 2 && prompts[1].name == "explain_refusal", &prompts)?;
    client.get_prompt(GetPromptRequestParams::new("intro")).await.map_err(|error| error.to_string())?;
    let filled = GetPromptRequestParams::new("explain_refusal").with_arguments(object(json!({"command": "rm x"})));
    let result = client.get_prompt(filled).await.map_err(|error| error.to_string())?;
    expect(format!("{result:?}").contains("would be refused"), &result)?;
    let without = client.get_prompt(GetPromptRequestParams::new("explain_refusal")).await;
    expect(without.is_err(), without)?;
    ok()
}

async fn log(client: &Client, legacy: bool, messages: &Mutex<Vec<Value>>) -> Outcome {
    let mut asked = params(json!({"command": "echo logged"}));
    if legacy {
        let level = SetLevelRequestParams::new(LoggingLevel::Info);
        client.set_level(level).await.map_err(|error| error.to_string())?;
    } else {
        let meta = object(json!({"io.modelcontextprotocol/logLevel": "info"}));
        asked.meta = Some(serde_json::from_value(Value::Object(meta)).map_err(|error| error.to_string())?);
    }
    messages.lock().unwrap().clear();
    client.call_tool(asked).await.map_err(|error| error.to_string())?;
    // The handler runs beside the answer: it may still be about to run for the last message.
    for _ in 0..1000 {
        if messages.lock().unwrap().len() >= 2 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let messages = messages.lock().unwrap().clone();
    let events: Vec<&str> = messages.iter().filter_map(|data| data["event"].as_str()).collect();
    expect(events == ["allowed", "ended"], &messages)?;
    ok()
}

fn runs_in(directory: &str, result: &CallToolResult) -> Result<(), String> {
    let seen = text(result);
    expect(result.is_error != Some(true) && seen.contains(&format!("stdout: |\n  {directory}\n")), seen)
}

fn is_outside(result: &CallToolResult) -> Result<(), String> {
    let seen = text(result);
    expect(result.is_error == Some(true) && seen.contains("is not inside an allowed root"), seen)
}

/// The root is where calls run and what bounds them, and so is the next one once the client changed it.
async fn roots(
    client: &Client,
    legacy: bool,
    [root, other]: [&str; 2],
    offered: &Mutex<String>,
    asked: &AtomicUsize,
) -> Outcome {
    let name = |path: &str| format!("../{}", path.rsplit('/').next().unwrap_or_default());
    let begun = asked.load(Ordering::SeqCst);
    runs_in(root, &call(client, json!({"command": "sh -c pwd"})).await?)?;
    runs_in(&format!("{root}/inside"), &call(client, json!({"command": "sh -c pwd", "cwd": "inside"})).await?)?;
    is_outside(&call(client, json!({"command": "sh -c pwd", "cwd": name(other)})).await?)?;
    let seen = asked.load(Ordering::SeqCst);
    expect(if legacy { (begun, seen) == (1, 1) } else { seen == begun + 3 }, (begun, seen))?;
    other.clone_into(&mut offered.lock().unwrap());
    if legacy {
        client.notify_roots_list_changed().await.map_err(|error| error.to_string())?;
    }
    runs_in(other, &call(client, json!({"command": "sh -c pwd"})).await?)?;
    is_outside(&call(client, json!({"command": "sh -c pwd", "cwd": name(root)})).await?)?;
    let seen = asked.load(Ordering::SeqCst);
    expect(seen == if legacy { 2 } else { begun + 5 }, (begun, seen))?;
    Ok(if legacy { "ok, list_changed" } else { "ok, input_required" }.to_owned())
}

async fn run(
    mode: &str,
    [root, other]: [&str; 2],
    server: &[String],
    tried: &mut Map<String, Value>,
) -> Result<String, String> {
    let (progress, mut heard) = unbounded_channel();
    let (roots_asked, messages) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let offered = Arc::new(Mutex::new(root.to_owned()));
    let handler = Handler {
        has_roots: true,
        offered: offered.clone(),
        roots_asked: roots_asked.clone(),
        progress,
        messages: messages.clone(),
    };
    let client = connect(mode, server, handler).await?;
    let revision = client.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default();
    let legacy = revision != "2026-07-28";
    step(tried, "list", async {
        let tools = client.list_all_tools().await.map_err(|error| error.to_string())?;
        expect(tools.len() >= 2 && tools[0].name == "execute_command" && tools[1].name == "execute_process", &tools)?;
        ok()
    })
    .await;
    step(tried, "call", async {
        let result = call(&client, json!({"command": "echo hello"})).await?;
        expect(result.is_error != Some(true) && text(&result).contains("hello"), &result)?;
        ok()
    })
    .await;
    step(tried, "refused", async {
        let result = call(&client, json!({"command": "rm -rf x"})).await?;
        expect(result.is_error == Some(true) && text(&result).contains("not allowed"), &result)?;
        ok()
    })
    .await;
    step(tried, "timeout", async {
        let result = call(&client, json!({"command": "sleep 30", "timeout_ms": 300})).await?;
        expect(result.is_error == Some(true) && text(&result).contains("timed_out: true"), &result)?;
        ok()
    })
    .await;
    step(tried, "cancel", cancel(mode, server)).await;
    step(tried, "progress", hear(&client, &mut heard)).await;
    step(tried, "prompts", prompts(&client)).await;
    step(tried, "completion", async {
        let asked = client.complete_prompt_argument("explain_refusal", "command", "s", None);
        let completion = asked.await.map_err(|error| error.to_string())?;
        expect(completion.values == ["sleep", "sh"] || completion.values == ["sh", "sleep"], &completion)?;
        ok()
    })
    .await;
    step(tried, "logging", log(&client, legacy, &messages)).await;
    if !legacy {
        step(tried, "listen", async {
            let filter = SubscriptionFilter::default();
            let mut subscription = client.listen(filter).await.map_err(|error| error.to_string())?;
            call(&client, json!({"command": "echo beside"})).await?;
            subscription.cancel().await.map_err(|error| error.to_string())?;
            ok()
        })
        .await;
    }
    step(tried, "roots", roots(&client, legacy, [root, other], &offered, &roots_asked)).await;
    client.cancel().await.map_err(|error| error.to_string())?;
    Ok(revision)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, root, other, server @ ..] = arguments.as_slice() else {
        panic!("usage: rmcp-client MODE ROOT OTHER SERVER...")
    };
    let mut tried = Map::new();
    let outcome =
        match tokio::time::timeout(Duration::from_secs(90), run(mode, [root, other], server, &mut tried)).await {
            Ok(outcome) => outcome,
            Err(_) => Err("no end in 90 s".to_owned()),
        };
    let end = outcome.as_ref().map_or_else(|why| format!("FAILED: {why}"), |_| "ok".to_owned());
    tried.insert("end".to_owned(), json!(end));
    let revision = outcome.unwrap_or_default();
    println!(
        "{}",
        json!({"client": "crate rmcp", "version": "3.9.0", "mode": mode, "revision": revision, "tried": tried})
    );
}
