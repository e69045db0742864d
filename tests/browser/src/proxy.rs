//! What is between a browser and a node, and what can go wrong there.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A way to a node.
pub struct Proxy {
    /// Where it begins.
    pub address: String,
    way: Arc<Way>,
}

#[derive(Default)]
struct Way {
    is_cut: AtomicBool,
    links: Mutex<Vec<Arc<Link>>>,
}

/// One connection, from end to end.
struct Link {
    ends: [TcpStream; 2],
    /// What the browser asks gets lost.
    is_dead: AtomicBool,
    /// Something has got lost.
    has_lost: AtomicBool,
}

impl Link {
    fn hang_up(&self) {
        for end in &self.ends {
            // The other side may have done so before.
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Carries from one end to the other, until either hangs up.
    fn carry(&self, from: usize) {
        let (mut source, mut sink) = (&self.ends[from], &self.ends[1 - from]);
        let mut bytes = [0; 65536];
        while let Ok(count @ 1..) = source.read(&mut bytes) {
            if from == 0 && self.is_dead.load(Ordering::SeqCst) {
                self.has_lost.store(true, Ordering::SeqCst);
            } else if sink.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        // Where requests get lost, so does that the node has hung up.
        if from == 0 || !self.is_dead.load(Ordering::SeqCst) {
            self.hang_up();
        }
    }
}

impl Proxy {
    /// A way to the node at this address.
    pub fn new(node: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, node) = (listener.local_addr().unwrap().to_string(), node.to_string());
        let way = Arc::new(Way::default());
        let proxy = Proxy { address, way: Arc::clone(&way) };
        // It goes on until the tests are over.
        thread::spawn(move || {
            for accepted in listener.incoming() {
                let Ok(accepted) = accepted else { continue };
                if way.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(there) = TcpStream::connect(&node) else { continue };
                let (is_dead, has_lost) = (AtomicBool::new(false), AtomicBool::new(false));
                let link = Arc::new(Link { ends: [accepted, there], is_dead, has_lost });
                way.links.lock().unwrap().push(Arc::clone(&link));
                let back = Arc::clone(&link);
                thread::spawn(move || link.carry(0));
                thread::spawn(move || back.carry(1));
            }
        });
        proxy
    }

    /// Where the page of the node is, this way.
    pub fn page(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Everybody hangs up, and nobody gets through.
    pub fn cut(&self) {
        self.way.is_cut.store(true, Ordering::SeqCst);
        self.way.links.lock().unwrap().drain(..).for_each(|link| link.hang_up());
    }

    /// One gets through again.
    pub fn mend(&self) {
        self.way.is_cut.store(false, Ordering::SeqCst);
    }

    /// From now on, whatever is asked on the connections that there are gets lost, and nobody is told.
    pub fn lose_requests(&self) {
        self.way.links.lock().unwrap().iter().for_each(|link| link.is_dead.store(true, Ordering::SeqCst));
    }

    /// Whether a request has got lost.
    pub fn has_lost(&self) -> bool {
        self.way.links.lock().unwrap().iter().any(|link| link.has_lost.load(Ordering::SeqCst))
    }

    /// All connections are hung up but those on which a request has got lost, of which nobody is told.
    pub fn hang_up_others(&self) {
        let links = self.way.links.lock().unwrap();
        links.iter().filter(|link| !link.has_lost.load(Ordering::SeqCst)).for_each(|link| link.hang_up());
    }
}
