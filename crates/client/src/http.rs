//! Single requests over HTTP: for what needs no session.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::{Method, Response, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Error;
use crate::contract::Problem;
use crate::dial::{Dialer, Endpoint};

/// Answers are at most so long, unless they are asked for as bytes.
pub(crate) const LONGEST_ANSWER: usize = 64 * 1024 * 1024;

/// Why a node that can be reached may not answer, and what to do.
pub(crate) const SILENT: &str =
    "no response in time; check with `quorate status` or /readyz of each node whether a majority of the members runs";

/// Asks one node, and reads what it answers, whatever that is, up to a limit.
pub(crate) async fn bytes(
    dialer: &Dialer,
    node: &Endpoint,
    method: Method,
    path: &str,
    body: Bytes,
    patience: Duration,
    longest: usize,
) -> Result<Bytes, Error> {
    let asked = async {
        let (response, _kept) = open(dialer, node, method, path, body).await?;
        let collected = Limited::new(response.into_body(), longest).collect().await;
        collected.map(|body| body.to_bytes()).map_err(|error| unreachable(node, &error.to_string()))
    };
    timeout(patience, asked).await.map_err(|_| unreachable(node, SILENT))?
}

/// A connection, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Kept(JoinHandle<Result<(), hyper::Error>>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks one node. What it answers can be read while the connection is kept; a problem that it has is an error.
pub(crate) async fn open(
    dialer: &Dialer,
    node: &Endpoint,
    method: Method,
    path: &str,
    body: Bytes,
) -> Result<(Response<Incoming>, Kept), Error> {
    let failed = |error: &dyn std::fmt::Display| unreachable(node, &format!("{error}{}", dialer.hint(node)));
    let wire = dialer.dial(node).await.map_err(|why| unreachable(node, &why))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(wire)).await.map_err(|error| failed(&error))?;
    let kept = Kept(tokio::spawn(connection));
    let request = dialer
        .request(node)
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|error| Error::Usage(error.to_string()))?;
    let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
    if response.status().is_success() {
        return Ok((response, kept));
    }
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await.map_err(|error| failed(&error))?;
    let body = body.to_bytes();
    let problem: Problem =
        serde_json::from_slice(&body).map_err(|error| not_understood(node, status, &error, &body))?;
    Err(problem.into())
}

/// What an answer says.
pub(crate) fn decode<T: DeserializeOwned>(node: &Endpoint, answer: &[u8]) -> Result<T, Error> {
    let answer = if answer.is_empty() { &b"null"[..] } else { answer };
    serde_json::from_slice(answer).map_err(|error| not_understood(node, 200, &error, answer))
}

fn not_understood(node: &Endpoint, status: u16, error: &serde_json::Error, answer: &[u8]) -> Error {
    let beginning = String::from_utf8_lossy(&answer[..answer.len().min(200)]);
    Error::NotUnderstood { node: node.to_string(), why: format!("{status}: {error}: {beginning}") }
}

pub(crate) fn unreachable(node: &Endpoint, why: &str) -> Error {
    Error::Unreachable { tried: node.to_string(), why: why.into() }
}
