//! Streams that say what no member would say.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use quorate_server::engine::Engine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Cluster, open};

#[tokio::test(flavor = "multi_thread")]
async fn garbage_on_a_stream_ends_that_stream_and_nothing_else() {
    let cluster = Cluster::begin([1], |_| ()).await;
    let address = cluster.settings[&1].address.clone();
    let mut runner = TestRunner::deterministic();
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    for case in 0..200 {
        let mut sent = bytes.new_tree(&mut runner).unwrap().current();
        if case % 2 == 0 {
            // A frame of the right length, so that its contents are looked at.
            let length = u32::try_from(sent.len()).unwrap().to_be_bytes();
            sent.splice(0..0, length);
        }
        let mut stream = TcpStream::connect(&address).await.unwrap();
        // It may have hung up already.
        let _ = stream.write_all(&sent).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    let replica = cluster.replica(1);
    replica.submit(open(1)).await.unwrap();
    replica.confirm().await.unwrap();
}
