//! Nodes that stand still for longer than is tolerated.

use std::time::Duration;

use quorate_net::Node;

use crate::support::{Group, soon};

/// One is dead when another stands still: who goes on must not wait for the dead, nor let the others wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_not_awake_does_not_wait_for_the_dead() {
    let group = Group::new(5, |config| config);
    let config = group.config(4);
    let (sleep, told) = tokio::sync::oneshot::channel::<()>();
    let (say, woke) = tokio::sync::oneshot::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let sleeper = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let node = Node::join(config).await.unwrap();
            told.await.unwrap();
            // Its only thread: as if the process were stopped.
            std::thread::sleep(Duration::from_secs(3));
            say.send(node.lock_timeout("printer", Duration::from_secs(30)).await.unwrap().is_some()).unwrap();
            _ = ended.await;
        });
    });
    let mut others = Vec::new();
    for id in [1, 2, 3, 5] {
        others.push(group.join(id).await.unwrap());
    }
    drop(soon("all are there", others[0].lock("printer")).await.unwrap());
    others[3].stop().await;
    for other in &others[..3] {
        soon("5 is taken for dead", async {
            while !other.status().await.unwrap().peers.iter().any(|peer| peer.id.number() == 5 && peer.is_suspected) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
    // By 4, too, of which nobody can be asked that.
    tokio::time::sleep(Duration::from_secs(2)).await;
    sleep.send(()).unwrap();
    assert!(woke.await.unwrap(), "it waits for the dead");
    drop(soon("the others go on", others[0].lock("printer")).await.unwrap());
    end.send(()).unwrap();
    sleeper.join().unwrap();
}
