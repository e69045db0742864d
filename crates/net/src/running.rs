//! The task that owns a process: it tells the process what happens, and the desk what the process says.

use std::collections::HashSet;
use std::future::{Future as _, poll_fn};
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use quorate_core::clock::Number;
use quorate_core::id::Id;
use quorate_core::journal::Happening;
use quorate_core::mutex::{self, Mutex};
use quorate_core::process::{Event, Notice, Process};
use quorate_core::stack::resources::{Input, Output};
use quorate_core::stack::{Member as _, Name, Request, Surviving, traced};
use quorate_core::trace::What;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{error, info, warn};

use crate::bell::Bells;
use crate::desk::{Desk, MOST_NAMES, Refused};
use crate::driver::Driver;
use crate::inlet::{Arrived, Inlet, Inlets};
use crate::node::{Command, NodeStatus, PeerStatus};
use crate::outbox::Outbox;
use crate::tracer::Tracer;

/// So many events are dealt with at a time, before anything is sent.
const BATCH: usize = 256;
/// When it stops, it waits no longer for what it has still to say.
const FAREWELL: Duration = Duration::from_millis(200);

/// The task that owns the process.
pub(crate) struct Running<M: Mutex> {
    pub(crate) me: Id,
    pub(crate) terms: String,
    pub(crate) incarnation: u64,
    pub(crate) driver: Driver<Surviving<M>>,
    pub(crate) desk: Desk,
    /// Who is told who leads. That nobody can be told any more means that the node has stopped: it is dropped after
    /// the driver, so that whoever waits for that finds the directory free.
    pub(crate) leader: watch::Sender<Option<Id>>,
    /// Whom they were told of last.
    pub(crate) known_leader: Option<Id>,
    /// How often another leader was known.
    pub(crate) elections: u64,
    pub(crate) peers: Vec<Peer>,
    pub(crate) is_guarded: bool,
    /// Why it has stopped, if nobody has told it to.
    pub(crate) trouble: Arc<OnceLock<Arc<str>>>,
    /// What it is to remember of that, if it is not to begin another life with what it knows.
    pub(crate) disowned: Option<String>,
    /// All names that were ever asked for here: those that the process knows are forgotten when it begins again.
    pub(crate) names: HashSet<Name>,
    /// Whether the process was told that somebody wants to know who leads.
    pub(crate) is_leader_wanted: bool,
    /// For which timer it was so late that it has given itself up.
    pub(crate) resigned_for: Option<Instant>,
    /// The highest number that was observed while it does not take part, and is not known to the process.
    pub(crate) observed: Number,
    /// Who is silent for so much longer than it should be is given up.
    pub(crate) patience: Duration,
    /// They end with this.
    pub(crate) tasks: JoinSet<()>,
    pub(crate) tracer: Option<Tracer>,
}

/// Another member.
pub(crate) struct Peer {
    id: Id,
    address: String,
    outbox: Arc<Outbox>,
    /// Whether it was taken for dead when that was looked at last, and how often it has been.
    is_suspected: bool,
    suspicions: u64,
}

impl Peer {
    pub(crate) fn new(id: Id, address: String, outbox: Arc<Outbox>) -> Peer {
        Peer { id, address, outbox, is_suspected: false, suspicions: 0 }
    }
}

/// Whether it is told that a turn was taken away.
fn is_loss(output: &traced::Output<Output>) -> bool {
    matches!(output, traced::Output::Told(Output::Of(_, mutex::Output::Lost)))
}

pub(crate) type MessageOf<M> = <Surviving<M> as Process>::Message;

impl<M: Mutex> Running<M> {
    /// Runs until it is stopped, or nobody has a handle any more.
    pub(crate) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command>,
        mut connected: mpsc::Receiver<Inlet>,
    ) {
        info!(node = self.me.number(), incarnation = self.incarnation, terms = %self.terms, "member started");
        self.driver.start();
        let mut inlets = Inlets::new(self.me);
        let mut arrived: Vec<Arrived<MessageOf<M>>> = Vec::with_capacity(BATCH);
        let mut commanded = Vec::with_capacity(BATCH);
        let mut alarm = std::pin::pin!(sleep_until(Instant::now()));
        let bells = Bells::default();
        let (new_inlet, new_command, clock) = (bells.add(), bells.add(), bells.add());
        let mut is_stopped = false;
        while !is_stopped {
            if !self.has_settled().await {
                break;
            }
            let next = self.driver.next_alarm();
            if let Some(next) = next
                && (next != alarm.deadline() || alarm.is_elapsed())
            {
                alarm.as_mut().reset(next);
                clock.look_again();
            }
            let is_deserted = poll_fn(|context| {
                bells.wake(context);
                if new_inlet.has_rung() {
                    while let Poll::Ready(Some(inlet)) = connected.poll_recv(&mut new_inlet.context()) {
                        inlets.insert(inlet, bells.add());
                    }
                }
                let is_more = inlets.receive(&mut arrived);
                let is_due = clock.has_rung() && next.is_some() && alarm.as_mut().poll(&mut clock.context()).is_ready();
                if new_command.has_rung()
                    && let Poll::Ready(count) =
                        commands.poll_recv_many(&mut new_command.context(), &mut commanded, BATCH)
                {
                    new_command.look_again();
                    return Poll::Ready(count == 0);
                }
                let is_there = is_due || is_more || !arrived.is_empty() || inlets.is_disowned();
                if is_there { Poll::Ready(false) } else { Poll::Pending }
            });
            if is_deserted.await {
                break;
            }
            let now = self.driver.look_at_clock();
            if next.is_some_and(|due| due <= now) {
                // What has arrived counts before what has not: who was late itself would suspect everybody otherwise.
                inlets.receive(&mut arrived);
                self.resign_if_late(now);
            }
            if let Some((by, why)) = inlets.disowned() {
                self.be_disowned(by, &why);
                break;
            }
            for Arrived { from, message } in arrived.drain(..) {
                self.driver.happen(Event::Receive { from, message });
            }
            // Who gives back what was taken away from it is told so: it must be known here first.
            if !commanded.is_empty() && self.driver.is_to_tell(is_loss) && !self.has_settled().await {
                break;
            }
            for command in commanded.drain(..) {
                is_stopped |= self.obey(command);
            }
            self.driver.ring();
        }
        info!(node = self.me.number(), "member stopped");
        // Whoever asks from now on, or has asked in vain, is told that it has stopped.
        commands.close();
        self.farewell(inlets, arrived).await;
    }

    /// Who has not beaten for so long that others may have given it up gives itself up, before it does anything else.
    fn resign_if_late(&mut self, now: Instant) {
        let due = self.driver.next_alarm();
        let late = due.map_or(Duration::ZERO, |due| now.saturating_duration_since(due));
        if self.is_guarded && late >= self.patience && self.resigned_for != due {
            self.resigned_for = due;
            warn!(node = self.me.number(), pause = ?late, "node resumed after a pause");
            let peers: Vec<_> = self.peers.iter().map(|peer| peer.id).collect();
            for &id in &peers {
                self.driver.happen(Event::Notice(Notice::Suspect(id)));
            }
            for &id in &peers {
                self.driver.happen(Event::Notice(Notice::Trust(id)));
            }
        }
    }

    /// Says what is still to be said, if that does not take long, and hangs up.
    async fn farewell(mut self, mut inlets: Inlets, mut ignored: Vec<Arrived<MessageOf<M>>>) {
        let is_settled = self.settle().await.is_ok();
        if let Some(why) = self.disowned.take()
            && let Err(error) = self.driver.disown(why).await
        {
            error!(node = self.me.number(), %error, "rejection not saved");
        }
        // Before anybody else can be let in: who has a turn, or leads, hears that it is over.
        drop(std::mem::take(&mut self.desk));
        self.leader.send_replace(None);
        // A connection on which something is left to read is reset in the end, and what was said on it may be lost.
        let mut ignore = || {
            inlets.receive(&mut ignored);
            ignored.clear();
        };
        if is_settled {
            let is_said = async {
                ignore();
                while !self.peers.iter().all(|peer| peer.outbox.is_empty()) {
                    sleep(Duration::from_millis(1)).await;
                    ignore();
                }
            };
            // Whoever does not hear it finds out.
            _ = timeout(FAREWELL, is_said).await;
        }
        self.tasks.shutdown().await;
        ignore();
        drop(inlets);
        if let Some(tracer) = self.tracer {
            tracer.end().await;
        }
    }

    /// Carries out what is wanted. Says whether that could be done.
    async fn has_settled(&mut self) -> bool {
        let settled = self.settle().await;
        if let Err(error) = &settled {
            // What was promised cannot be kept: better to be taken for dead.
            error!(node = self.me.number(), %error, "state not saved");
            let trouble = format!(
                "the node stopped because it could not save its state ({error}): repair the disk, and restart it"
            );
            self.trouble.get_or_init(|| trouble.as_str().into());
        }
        settled.is_ok()
    }

    /// A member [knows it better](crate::frame::Refusal::Forgetful). Who does not would wait for this one, or let it
    /// in. So it does not go on, now or when it is started again.
    fn be_disowned(&mut self, by: Id, why: &str) {
        let trouble = format!("the node stopped because node {} rejected it: {why}", by.number());
        // Others may say the same, and once is enough.
        if self.trouble.set(trouble.as_str().into()).is_ok() {
            error!(node = self.me.number(), peer = by.number(), reason = why, "node stopped by peer");
            self.disowned = Some(trouble);
        }
    }

    /// Carries out what is wanted, until nothing more is.
    async fn settle(&mut self) -> io::Result<()> {
        loop {
            let happened_at = self.tracer.as_ref().map(Tracer::now);
            let synced = self.driver.counts.syncs;
            let outputs = self.driver.settle().await?;
            if self.driver.counts.syncs > synced {
                // The disk may have taken so long that others have given us up: who is let in now hears of it at once.
                let now = self.driver.look_at_clock();
                self.resign_if_late(now);
            }
            if self.observed > Number::ZERO && self.driver.process().awaited().is_none() {
                self.tell_observed();
            } else if outputs.is_empty() {
                break;
            }
            for output in outputs {
                match output {
                    traced::Output::Told(Output::Of(name, output)) => {
                        let request = self.desk.hear(&name, output);
                        self.ask(name, request);
                    }
                    traced::Output::Told(Output::Leader(_)) => {}
                    traced::Output::Happened(happening) => {
                        if let (Some(tracer), Some(at)) = (&mut self.tracer, happened_at) {
                            tracer.record(at, *happening);
                        }
                    }
                }
            }
        }
        self.driver.flush();
        self.look_around();
        Ok(())
    }

    /// Tells whoever wants to know who leads, and counts who is taken for dead.
    fn look_around(&mut self) {
        let leader = self.driver.process().resources().leader();
        if leader != self.known_leader {
            self.known_leader = leader;
            self.leader.send_replace(leader);
            self.elections += u64::from(leader.is_some());
        }
        for peer in &mut self.peers {
            let was_suspected = std::mem::replace(&mut peer.is_suspected, self.driver.process().suspects(peer.id));
            peer.suspicions += u64::from(peer.is_suspected && !was_suspected);
        }
    }

    fn ask(&mut self, name: Name, request: Option<Request>) {
        if let Some(request) = request {
            self.tell_observed();
            self.driver.happen(Event::Input(Input::Of(name, request)));
        }
    }

    /// What is asked for comes after all that was observed.
    fn tell_observed(&mut self) {
        let observed = std::mem::replace(&mut self.observed, Number::ZERO);
        if observed > Number::ZERO {
            self.driver.happen(Event::Input(Input::Observe(observed)));
        }
    }

    /// Does what was asked. Is it to stop?
    fn obey(&mut self, command: Command) -> bool {
        match command {
            Command::Ask { name, waiter } => {
                let resources = self.driver.process().resources();
                let is_full = resources.len().max(self.names.len()) >= MOST_NAMES;
                if is_full && !resources.contains(&name) && !self.names.contains(&name) {
                    // Who asked may not care any more.
                    _ = waiter.granted.send(Err(Refused::TooManyNames));
                    return false;
                }
                if !self.names.contains(&name) {
                    self.names.insert(name.clone());
                }
                let request = self.desk.ask(&name, waiter);
                self.ask(name, request);
            }
            Command::Cancel { name, ticket } => {
                let request = self.desk.cancel(&name, ticket);
                self.ask(name, request);
            }
            Command::Release { name, ticket, done } => {
                let request = self.desk.release(&name, ticket, done);
                self.ask(name, request);
            }
            Command::Wrote { name, fence, accepted } => {
                if let Some(past) = self.driver.process().past().filter(|_| self.tracer.is_some()).cloned() {
                    let what = What::Wrote { fence, accepted };
                    let happening = Happening { what, resource: Some(name), past, sender_life: None };
                    self.driver.tell(traced::Output::Happened(Box::new(happening)));
                }
            }
            Command::Lead => {
                if !std::mem::replace(&mut self.is_leader_wanted, true) {
                    self.driver.happen(Event::Input(Input::Lead));
                }
            }
            // Who does not take part keeps all that it is told: so it is told the highest number, and not each.
            Command::Observe(stamp) if self.driver.process().awaited().is_some() => {
                self.observed = self.observed.max(stamp);
            }
            Command::Observe(stamp) => self.driver.happen(Event::Input(Input::Observe(stamp))),
            Command::Stamp(tell) => {
                let highest = self.driver.process().resources().highest_seen().max(self.observed);
                _ = tell.send(highest);
            }
            Command::Status(tell) => _ = tell.send(self.status()),
            Command::Disown { by, why } => {
                self.be_disowned(by, &why);
                return true;
            }
            Command::Stop => return true,
        }
        false
    }

    fn status(&self) -> NodeStatus {
        let process = self.driver.process();
        let peers = self.peers.iter().map(|Peer { id, address, outbox, is_suspected, suspicions }| PeerStatus {
            id: *id,
            address: address.clone(),
            is_connected: outbox.is_connected(),
            is_suspected: *is_suspected,
            suspicions: *suspicions,
            round_trip: outbox.round_trip(),
            connections: outbox.connections(),
            dropped: outbox.dropped(),
            failure: outbox.failure(),
        });
        let counts = self.driver.counts.clone();
        NodeStatus {
            id: self.me,
            incarnation: self.incarnation,
            terms: self.terms.clone(),
            leader: process.resources().leader(),
            awaited: process.awaited().map(|awaited| awaited.iter().collect()),
            peers: peers.collect(),
            resources: process.resources().len(),
            wanted: self.desk.len(),
            sent: counts.sent.into_iter().collect(),
            unexpected: counts.unexpected,
            syncs: counts.syncs,
            trace_lost: self.tracer.as_ref().map(Tracer::lost),
            elections: self.elections,
            timers: self.driver.timers(),
        }
    }
}
