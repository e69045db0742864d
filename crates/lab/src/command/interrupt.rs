//! Ctrl-C as a request: a long search ends early, and prints what it has found.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The exit code of a command that a second Ctrl-C ends, as a shell reports it.
const KILLED: i32 = 130;

/// Whether the user has pressed Ctrl-C (SIGINT) since this was made.
#[derive(Debug)]
pub struct Interrupt {
    received: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for Ctrl-C until the process ends. The first one is only recorded; the second one ends the process.
    pub fn listen() -> Interrupt {
        let received = Arc::new(AtomicBool::new(false));
        let heard = received.clone();
        thread::spawn(move || {
            // Without a runtime, Ctrl-C keeps its usual effect.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                while tokio::signal::ctrl_c().await.is_ok() {
                    if heard.swap(true, Ordering::Relaxed) {
                        process::exit(KILLED);
                    }
                }
            });
        });
        Interrupt { received }
    }

    /// Whether Ctrl-C was pressed.
    pub fn is_received(&self) -> bool {
        self.received.load(Ordering::Relaxed)
    }
}
