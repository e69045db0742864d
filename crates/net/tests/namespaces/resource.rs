//! The resource: takes a fence unless it has taken a larger one, and keeps account. Members reach it by a socket in a
//! directory that all hosts share; so no fault of the network concerns it, and nobody who is paused holds it up.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Somebody has shown its fence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) by: u32,
    pub(crate) fence: u64,
    pub(crate) is_taken: bool,
}

/// The resource. It is there as long as this process.
pub(crate) struct Resource {
    account: Arc<Mutex<Vec<Shown>>>,
}

/// Where it is.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join("resource")
}

impl Resource {
    pub(crate) fn new(directory: &Path) -> Resource {
        let account = Arc::new(Mutex::new(Vec::new()));
        let listener = UnixListener::bind(path(directory)).expect("the directory is ours");
        let shared = account.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let account = shared.clone();
                std::thread::spawn(move || serve(stream, &account));
            }
        });
        Resource { account }
    }

    /// What was shown, in the order in which it was.
    pub(crate) fn account(&self) -> Vec<Shown> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes `ID FENCE`, and says whether that was taken, until the member is gone.
fn serve(mut stream: UnixStream, account: &Mutex<Vec<Shown>>) {
    let lines = BufReader::new(stream.try_clone().expect("a socket of ours")).lines();
    for line in lines.map_while(Result::ok) {
        let (by, fence) = line.split_once(' ').expect("an id and a fence");
        let (by, fence) = (by.parse().expect("an id"), fence.parse().expect("a fence"));
        let is_taken = {
            let mut account = account.lock().unwrap_or_else(PoisonError::into_inner);
            let largest = account.iter().filter(|shown| shown.is_taken).map(|shown| shown.fence).max();
            let is_taken = largest.is_none_or(|largest| fence >= largest);
            account.push(Shown { by, fence, is_taken });
            is_taken
        };
        if writeln!(stream, "{}", if is_taken { "taken" } else { "refused" }).is_err() {
            return;
        }
    }
}
