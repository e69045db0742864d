//! Counts what clients of etcd ask, and what they are told.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use tonic::Code;

use crate::telemetry::{Results, Row, Telemetry};

/// Everything that can be asked. Whatever else is asked counts as something else.
const METHODS: [(&str, &str); 12] = [
    ("/etcdserverpb.Lease/LeaseGrant", "LeaseGrant"),
    ("/etcdserverpb.Lease/LeaseRevoke", "LeaseRevoke"),
    ("/etcdserverpb.Lease/LeaseKeepAlive", "LeaseKeepAlive"),
    ("/etcdserverpb.Lease/LeaseTimeToLive", "LeaseTimeToLive"),
    ("/etcdserverpb.Lease/LeaseLeases", "LeaseLeases"),
    ("/v3lockpb.Lock/Lock", "Lock"),
    ("/v3lockpb.Lock/Unlock", "Unlock"),
    ("/v3electionpb.Election/Campaign", "Campaign"),
    ("/v3electionpb.Election/Proclaim", "Proclaim"),
    ("/v3electionpb.Election/Leader", "Leader"),
    ("/v3electionpb.Election/Observe", "Observe"),
    ("/v3electionpb.Election/Resign", "Resign"),
];

/// Has all that is asked counted. A stream counts once, when its first answer begins.
pub(crate) fn counted(routes: Router, telemetry: &Telemetry) -> Router {
    let row = |kind| telemetry.row("etcd", kind, Results::Codes);
    let rows = Rows { known: METHODS.map(|(_, kind)| row(kind)), other: row("other") };
    routes.layer(from_fn_with_state(Arc::new(rows), count))
}

struct Rows {
    known: [Arc<Row>; METHODS.len()],
    other: Arc<Row>,
}

async fn count(State(rows): State<Arc<Rows>>, request: Request, next: Next) -> Response {
    let known = METHODS.iter().position(|(path, _)| *path == request.uri().path());
    let response = next.run(request).await;
    // What went well says so behind the answer, what failed says so before.
    let code = response.headers().get("grpc-status").map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
    known.map_or(&rows.other, |at| &rows.known[at]).count_code(code);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_counted_by_its_name() {
        let services = [
            ("etcdserverpb.Lease", include_str!("../../proto/lease.proto")),
            ("v3lockpb.Lock", include_str!("../../proto/lock.proto")),
            ("v3electionpb.Election", include_str!("../../proto/election.proto")),
        ];
        let methods = services.iter().flat_map(|(service, text)| {
            let names = text.lines().filter_map(|line| line.trim().strip_prefix("rpc ")?.split_once('('));
            names.map(move |(name, _)| (format!("/{service}/{name}"), name.to_string()))
        });
        let known: Vec<_> = METHODS.iter().map(|(path, kind)| (path.to_string(), kind.to_string())).collect();
        assert_eq!(methods.collect::<Vec<_>>(), known);
    }
}
