//! The resource: takes a fence unless it has taken a larger one, and keeps account. Members reach it by a socket in a
//! directory that all hosts share; so no fault of the network concerns it, and nobody who is paused holds it up.
//!
//! Between two fences a member asks whether it may go on, and can be kept waiting: so that whatever happens happens
//! while that one has its turn.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Somebody has shown its fence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) by: u32,
    pub(crate) fence: u64,
    pub(crate) is_taken: bool,
}

/// The resource. It is there as long as this process.
pub(crate) struct Resource {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    account: Vec<Shown>,
    /// Who is not answered, and whether it waits for that.
    kept: Option<(u32, bool)>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        until: impl Fn(&State) -> bool,
        most: Duration,
    ) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout_while(state, most, |state| !until(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Where it is.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join("resource")
}

impl Resource {
    pub(crate) fn new(directory: &Path) -> Resource {
        let shared = Arc::new(Shared::default());
        let listener = UnixListener::bind(path(directory)).expect("the directory is ours");
        let of_all = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = of_all.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Resource { shared }
    }

    /// What was shown, in the order in which it was.
    pub(crate) fn account(&self) -> Vec<Shown> {
        self.shared.state().account.clone()
    }

    /// Keeps this member waiting, the next time that it asks. Is that so, within this time?
    pub(crate) fn keep(&self, id: u32, most: Duration) -> bool {
        let mut state = self.shared.state();
        state.kept = Some((id, false));
        let state = self.shared.wait(state, |state| state.kept == Some((id, true)), most);
        state.kept == Some((id, true))
    }

    /// Keeps nobody waiting any more.
    pub(crate) fn let_go(&self) {
        self.shared.state().kept = None;
        self.shared.changed.notify_all();
    }
}

/// Takes `ID FENCE`, and says whether that was taken, and `ID rest`, and says when it may go on; until the member is
/// gone.
fn serve(mut stream: UnixStream, shared: &Shared) {
    let lines = BufReader::new(stream.try_clone().expect("a socket of ours")).lines();
    for line in lines.map_while(Result::ok) {
        let (by, what) = line.split_once(' ').expect("an id, and what it wants");
        let by = by.parse().expect("an id");
        let answer = match what {
            "rest" => {
                let mut state = shared.state();
                if state.kept == Some((by, false)) {
                    state.kept = Some((by, true));
                    shared.changed.notify_all();
                    drop(shared.wait(state, |state| state.kept.is_none(), Duration::MAX));
                }
                "go on"
            }
            fence => {
                let fence = fence.parse().expect("a fence");
                let mut state = shared.state();
                let largest = state.account.iter().filter(|shown| shown.is_taken).map(|shown| shown.fence).max();
                let is_taken = largest.is_none_or(|largest| fence >= largest);
                state.account.push(Shown { by, fence, is_taken });
                if is_taken { "taken" } else { "refused" }
            }
        };
        if writeln!(stream, "{answer}").is_err() {
            return;
        }
    }
}
