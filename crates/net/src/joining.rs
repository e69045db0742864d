//! How a node begins: everything that runs for it is made here, for the algorithm that was chosen.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use quorate_core::catalog::{self, Visitor};
use quorate_core::clock::Number;
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::setting::Setting;
use quorate_core::stack::{Limits, Surviving};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::config::{Checked, Config, ConfigError};
use crate::desk::{Desk, MOST_NAMES};
use crate::driver::Driver;
use crate::frame::{Hello, Identity};
use crate::link::Link;
use crate::listen::Listener;
use crate::node::{Command, JoinError, Trouble};
use crate::outbox::{MEASURING, Outbox};
use crate::rarely::Rarely;
use crate::running::{Peer, Running};
use crate::speakers::Speakers;
use crate::store::Store;
use crate::tls::Tls;
use crate::tracer::Tracer;

/// So many connections may wait for the process.
const CONNECTING: usize = 64;
/// All resources may have something to say to another node at once, when it is back.
const LIMITS: Limits = Limits { in_flight: 1024, unacknowledged: 8 * MOST_NAMES, resources: 2 * MOST_NAMES };

/// What a handle speaks to.
pub(crate) type Joined = (mpsc::UnboundedSender<Command>, watch::Receiver<Option<Id>>);

/// Begins to run the algorithm that was chosen.
pub(crate) struct Joining<'a> {
    pub(crate) config: &'a Config,
    pub(crate) checked: &'a Checked,
    pub(crate) tls: Option<Tls>,
    pub(crate) socket: TcpListener,
    pub(crate) trouble: Trouble,
}

impl Joining<'_> {
    /// Not part of a future: these are built anew by every program that awaits one, with all algorithms in it.
    pub(crate) fn begin(self) -> Result<Joined, JoinError> {
        catalog::visit(self.checked.entry.name, self).map_err(ConfigError::from)?
    }
}

impl Visitor for Joining<'_> {
    type Output = Result<Joined, JoinError>;

    fn mutex<M: Mutex>(self) -> Result<Joined, JoinError> {
        let Joining { config, checked, tls, socket, trouble } = self;
        let Checked { me, group, program, terms, .. } = checked;
        let owner = format!("node {me} of {:?}, which runs {program}", config.cluster);
        let after = if config.is_forgotten { seconds_of_the_clock() } else { 0 };
        let store = Store::open(&config.data_directory(), &owner, after)?;
        let (mut instance, mut seed) = ([0; 16], [0; 8]);
        getrandom::fill(&mut instance).and_then(|()| getrandom::fill(&mut seed)).map_err(JoinError::Random)?;
        let hello = Hello {
            cluster: config.cluster.clone(),
            terms: terms.clone(),
            from: me.number(),
            to: me.number(),
            identity: Identity {
                incarnation: store.life(),
                instance: u128::from_ne_bytes(instance),
                directory: store.identity(),
            },
        };
        let (connecting, connected) = mpsc::channel(CONNECTING);
        let (commands, commanded) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let mut outboxes = BTreeMap::new();
        let speakers = Arc::new(Speakers::new(2 * config.beat + config.delay));
        let mut peers = Vec::new();
        for member in config.members.iter().filter(|member| member.id != me.number()) {
            let (to, outbox) = (Id::new(member.id), Arc::new(Outbox::new(*me, Id::new(member.id))));
            let hello = Hello { to: member.id, ..hello.clone() };
            let (address, tls, tolerance) = (member.address.clone(), tls.clone(), config.tolerance);
            let (speakers, connecting) = (Arc::clone(&speakers), connecting.clone());
            let (outbox_of_link, commands) = (Arc::clone(&outbox), commands.downgrade());
            let link =
                Link { to, address, hello, tls, outbox: outbox_of_link, speakers, connecting, commands, tolerance };
            tasks.spawn(link.run());
            peers.push(Peer::new(to, member.address.clone(), Arc::clone(&outbox)));
            outboxes.insert(to, outbox);
        }
        let (n, refused, silence) = (group.n, Rarely::default(), config.tolerance + 2 * MEASURING);
        let listener = Listener { hello, n, tls, connecting, speakers, silence, outboxes: outboxes.clone(), refused };
        tasks.spawn(Arc::new(listener).run(socket));

        let incarnation = store.life();
        let tracer = config.trace.as_ref().map(|path| {
            let begun = Tracer::begin(path, &config.header(checked, incarnation));
            begun.map_err(|error| JoinError::Trace { path: path.clone(), error })
        });
        let tracer = tracer.transpose()?;
        let process = Surviving::<M>::within(LIMITS, &Setting::new(*me, group), tracer.is_some());
        let driver = Driver::new(*me, process, store, &outboxes, u64::from_ne_bytes(seed));
        let (leader, leadership) = watch::channel(None);
        let running = Running {
            me: *me,
            terms: terms.clone(),
            incarnation,
            driver,
            desk: Desk::default(),
            leader,
            known_leader: None,
            elections: 0,
            trouble,
            disowned: None,
            names: HashSet::new(),
            is_leader_wanted: false,
            resigned_for: None,
            observed: Number::ZERO,
            peers,
            is_guarded: config.is_guarded,
            patience: config.tolerance.saturating_sub(config.beat).max(config.beat),
            tasks,
            tracer,
        };
        tokio::spawn(running.run(commanded, connected));
        Ok((commands, leadership))
    }

    fn election<E: Election>(self) -> Result<Joined, JoinError> {
        Err(ConfigError::NotMutex(E::ENTRY.name).into())
    }

    fn detector<D: Detector>(self) -> Result<Joined, JoinError> {
        Err(ConfigError::NotMutex(D::ENTRY.name).into())
    }
}

fn seconds_of_the_clock() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
