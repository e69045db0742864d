//! Single requests over HTTP: for what needs no session.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::Error;
use crate::contract::Problem;
use crate::dial::{Dialer, Endpoint};

/// Answers are at most so long.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;

/// Asks one node, and reads what it answers.
pub(crate) async fn request<T: DeserializeOwned>(
    dialer: &Dialer,
    node: &Endpoint,
    method: Method,
    path: &str,
    body: Option<&(impl Serialize + Sync)>,
    patience: Duration,
) -> Result<T, Error> {
    let body = match body {
        None => Bytes::new(),
        Some(body) => serde_json::to_vec(body).map_err(|error| Error::Usage(error.to_string()))?.into(),
    };
    let asked = ask(dialer, node, method, path, body);
    let (status, answer) = timeout(patience, asked).await.map_err(|_| unreachable(node, "no answer in time"))??;
    let not_understood = |error: serde_json::Error| Error::NotUnderstood {
        node: node.to_string(),
        why: format!("{status}: {error}: {}", String::from_utf8_lossy(&answer[..answer.len().min(200)])),
    };
    if (200..300).contains(&status) {
        let answer = if answer.is_empty() { &b"null"[..] } else { &answer };
        serde_json::from_slice(answer).map_err(not_understood)
    } else {
        let problem: Problem = serde_json::from_slice(&answer).map_err(not_understood)?;
        Err(problem.into())
    }
}

async fn ask(dialer: &Dialer, node: &Endpoint, method: Method, path: &str, body: Bytes) -> Result<(u16, Bytes), Error> {
    let failed = |error: &dyn std::fmt::Display| unreachable(node, &format!("{error}{}", dialer.hint(node)));
    let wire = dialer.dial(node).await.map_err(|why| unreachable(node, &why))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(wire)).await.map_err(|error| failed(&error))?;
    let driver = tokio::spawn(connection);
    let request = dialer
        .request(node)
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|error| Error::Usage(error.to_string()))?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
        body.map(|body| (status, body.to_bytes())).map_err(|error| failed(&error))
    };
    let answer = answer.await;
    driver.abort();
    answer
}

fn unreachable(node: &Endpoint, why: &str) -> Error {
    Error::Unreachable { tried: node.to_string(), why: why.into() }
}
