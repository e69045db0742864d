//! Ctrl-C as a request: a long search ends early, and prints what it has found.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The exit code of a command that a second Ctrl-C ends, as a shell reports it.
const KILLED: i32 = 130;

/// For this long after the first SIGINT, further ones are ignored: GNU `timeout` signals the command and then its
/// process group, so that one interrupt arrives twice.
const GRACE: Duration = Duration::from_secs(1);

/// Whether the user has pressed Ctrl-C (SIGINT) since this was made.
#[derive(Debug)]
pub struct Interrupt {
    received: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for Ctrl-C until the process ends. The first one is only recorded; another one, at least a second later,
    /// ends the process.
    pub fn listen() -> Interrupt {
        let received = Arc::new(AtomicBool::new(false));
        let heard = received.clone();
        thread::spawn(move || {
            // Without a runtime, Ctrl-C keeps its usual effect.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                let mut first: Option<Instant> = None;
                while tokio::signal::ctrl_c().await.is_ok() {
                    heard.store(true, Ordering::Relaxed);
                    if first.get_or_insert_with(Instant::now).elapsed() >= GRACE {
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
