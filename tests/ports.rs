//! Where the nodes of tests listen. Every test that has to know an address before a node listens there takes it from
//! here, as programs of tests run beside each other, and their clients beside their nodes.
//!
//! A port belongs to one program until that ends: ports come in blocks, and who has a block listens on the first of it.
//! All of them are below those that the system gives by itself to whoever connects.

use std::net::TcpListener;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// All that are given.
const PORTS: Range<u16> = 10_000..30_000;
/// How many are claimed at once.
const BLOCK: u16 = 100;

/// What this program has claimed.
struct Claimed {
    /// Nobody connects to them: they are there for as long as it runs.
    claims: Vec<TcpListener>,
    free: Range<u16>,
}

static CLAIMED: Mutex<Claimed> = Mutex::new(Claimed { claims: Vec::new(), free: 0..0 });

/// Addresses on loopback that nobody listens on, each given only once.
pub(crate) fn free_addresses(count: usize) -> Vec<String> {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    std::iter::repeat_with(|| claimed.next()).filter(|address| TcpListener::bind(address).is_ok()).take(count).collect()
}

impl Claimed {
    fn next(&mut self) -> String {
        let port = self.free.next().unwrap_or_else(|| {
            self.free = self.claim();
            self.free.next().expect("a block has more than one")
        });
        format!("127.0.0.1:{port}")
    }

    fn claim(&mut self) -> Range<u16> {
        let claim = |first| Some((first, TcpListener::bind(("127.0.0.1", first)).ok()?));
        let claimed = PORTS.step_by(BLOCK.into()).find_map(claim);
        let (first, listener) = claimed.expect("not all ports are other tests'");
        self.claims.push(listener);
        first + 1..first + BLOCK
    }
}
