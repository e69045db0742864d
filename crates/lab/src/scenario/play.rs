//! A scenario on a stage, step by step.

use quorate_core::catalog::{Entry, Family, Property};
use quorate_core::detector::Detector;
use quorate_core::election::Election;
use quorate_core::id::Id;
use quorate_core::mutex::Mutex;
use quorate_core::process::{Notice, Process};
use quorate_core::setting::{Group, Options, Recovering, Timing};
use quorate_core::stack::{Rejoining, Withdrawable};
use quorate_core::trace::{Label, Record, Recorded, timer_name};

use super::step::{Name, Step};
use super::{Expectation, Header, Scenario, ScenarioError};
use crate::conversation::conversation;
use crate::network::Order;
use crate::observer::Verdict;
use crate::property::{AT_THE_RESOURCE, Monitor, of_family};
use crate::recovery::{self, Runner};
use crate::report::Severity;
use crate::stage::host::Company;
use crate::stage::wish::{Caller, Client, Free, Listener, Times, Wish};
use crate::stage::{Bounds, Choice, Content, Letter, Rules, Stage};
use crate::subject::{Named, Subject};
use crate::time::DELTA;
use crate::world::Create;

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// What was recorded. Each thing that happens is one δ later than the one before.
    pub records: Vec<Record>,
    /// What happened, one by one: the script, with whatever stands for several steps written out.
    pub steps: Vec<String>,
    /// Remarks of the script, each with the number of the step that it is about.
    pub remarks: Vec<(usize, String)>,
    /// What it says about the properties that can be judged.
    pub verdicts: Vec<(Property, Verdict)>,
    /// Those that cannot: something that has to happen is left.
    pub open: Vec<Property>,
    /// What the algorithm promises while its assumptions hold.
    pub promised: Vec<Property>,
    /// Which of its assumptions the script breaks.
    pub broken_assumptions: Vec<String>,
}

/// How many arrivals `deliver all` waits for.
const MOST_ARRIVALS: usize = 10_000;
/// How many things happen at most.
const MOST_HAPPENINGS: usize = 100_000;
/// How many possibilities an error lists.
const MOST_POSSIBILITIES: usize = 12;

impl Played {
    /// What was recorded, in words, with the numbers of steps.
    pub fn conversation(&self) -> String {
        conversation(&self.records)
    }

    /// The same with the remarks, each before what it is about.
    pub fn annotated(&self) -> String {
        let mut remarks = self.remarks.iter().peekable();
        let mut text = String::new();
        let spoken = self.conversation();
        for (record, line) in self.records.iter().zip(spoken.lines()) {
            while let Some((_, remark)) = remarks.next_if(|(step, _)| *step as u64 * DELTA <= record.at) {
                text += &format!("# {remark}\n");
            }
            text += &format!("{line}\n");
        }
        remarks.fold(text, |text, (_, remark)| text + &format!("# {remark}\n"))
    }

    /// How bad the worst broken promise is. What cannot be judged is nobody's fault: a script ends where it ends.
    pub fn severity(&self) -> Severity {
        let promised = self.verdicts.iter().filter(|(property, _)| self.promised.contains(property));
        let severities = promised.map(|(property, verdict)| match verdict {
            Verdict::Held => Severity::Fine,
            Verdict::Undecided => Severity::Undecided,
            Verdict::Violated(_) if property.is_safety() => Severity::Safety,
            Verdict::Violated(_) => Severity::Liveness,
        });
        severities.max().unwrap_or(Severity::Fine)
    }

    /// Why something expected did not come true, if it did not.
    pub fn disappointment(&self, expectation: Expectation) -> Option<String> {
        let verdict = |wanted| self.verdicts.iter().find(|(property, _)| *property == wanted).map(|(_, is)| is);
        let why = |property: Property| match verdict(property) {
            Some(Verdict::Held) => format!("{property} held"),
            Some(Verdict::Violated(violation)) => format!("{property} is violated: {}", violation.why),
            Some(Verdict::Undecided) | None if self.open.contains(&property) => {
                format!("{property} cannot be judged: the script ends while a step must still happen")
            }
            Some(Verdict::Undecided) | None => format!("{property} does not apply to this algorithm"),
        };
        let expected = format!("`expect {expectation}` failed");
        match expectation {
            Expectation::Held(property) => {
                (verdict(property) != Some(&Verdict::Held)).then(|| format!("{expected}: {}", why(property)))
            }
            Expectation::Violated(property) => {
                let violated = matches!(verdict(property), Some(Verdict::Violated(_)));
                (!violated).then(|| format!("{expected}: {}", why(property)))
            }
            Expectation::Holds => {
                let broken = self.verdicts.iter().find(|(_, verdict)| *verdict != Verdict::Held);
                broken.map(|&(property, _)| format!("{expected}: {}", why(property)))
            }
        }
    }
}

impl Scenario {
    /// Plays it with the algorithm of the catalogue that it names.
    pub fn play(&self) -> Result<Played, ScenarioError> {
        self.play_subject(
            &Named::new(&self.header.algorithm).map_err(|error| ScenarioError::of_header(error.to_string()))?,
        )
    }

    /// Plays it with an algorithm, which must be called what the scenario says.
    pub fn play_subject(&self, subject: &impl Subject) -> Result<Played, ScenarioError> {
        subject.play(self)
    }

    /// Plays it with an algorithm that can be visited.
    pub(crate) fn play_visited(&self, subject: &impl Subject) -> Result<Played, ScenarioError> {
        let entry = subject.entry();
        if entry.name != self.header.algorithm {
            let why = format!("this scenario is for {}, not for {}", self.header.algorithm, entry.name);
            return Err(ScenarioError::of_header(why));
        }
        struct Play<'a>(&'a Scenario, &'static Entry);
        impl Runner for Play<'_> {
            type Output = Result<Played, ScenarioError>;
            fn mutex<M: Mutex>(self) -> Self::Output {
                self.0.play_entry::<_, Client>(self.1, Withdrawable::<M>::new)
            }
            fn recovering<M: Mutex>(self) -> Self::Output {
                self.mutex::<Rejoining<M>>()
            }
            fn election<E: Election>(self) -> Self::Output {
                self.0.play_entry::<_, Caller>(self.1, E::new)
            }
            fn detector<D: Detector>(self) -> Self::Output {
                self.0.play_entry::<_, Listener>(self.1, D::new)
            }
        }
        recovery::run(subject, self.header.recovery.is_some(), Play(self, entry))
    }

    fn play_entry<P, A>(&self, entry: &Entry, create: Create<P>) -> Result<Played, ScenarioError>
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        let header = &self.header;
        header.check(entry)?;
        let given = header.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let options = Options::new(entry, given).map_err(|error| ScenarioError::of_header(error.to_string()))?;
        let entry = &if header.recovery.is_some() { *entry } else { entry.with(&options) };
        let (timing, bound) = (header.timing_of(entry), header.delay_bound.unwrap_or(1));
        let group = Group::new(entry, header.n, bound, timing, options)
            .map_err(|error| ScenarioError::of_header(error.to_string()))?;
        let uncounted = header.entries_each == Some(Times::Endless);
        let group = if uncounted { group.uncounted() } else { group };
        let group = group
            .recovering(entry, header.recovery.map(Recovering::with))
            .map_err(|error| ScenarioError::of_header(error.to_string()))?;
        let said = self.rules(entry);
        let with_resource = self.has_resource();
        let (timed, drift) = (said.delay_bound.is_some(), header.drift.unwrap_or(0));
        let company = Company { group: group.clone(), create, timed, drift, with_resource };
        let restarts = header.restarts.unwrap_or(said.bounds.restarts);
        let rules = Rules { bounds: Bounds { restarts, ..UNBOUNDED }, ..said.clone() };
        let (stage, records) = Stage::<P, A>::new(company, rules);
        let mut player = Player { stage, records, steps: Vec::new() };
        for &(id, shown) in &header.clocks {
            player.records.extend(player.stage.observe(id, shown));
        }
        let mut remarks = Vec::new();
        for written in &self.script {
            remarks.extend(written.remarks.iter().map(|remark| (player.steps.len() + 1, remark.clone())));
            player.take(&written.step).map_err(|why| ScenarioError::at(written.line, why))?;
        }
        remarks.extend(self.closing.iter().map(|remark| (player.steps.len() + 1, remark.clone())));
        let promised = |property: &Property| entry.promises(*property, &group.options);
        // Where entries are not counted, fences do not grow.
        let at_the_resource = if with_resource { &AT_THE_RESOURCE[..] } else { &[] };
        let asked = of_family(entry.family).iter().chain(at_the_resource).copied();
        let asked: Vec<_> = asked.filter(|&property| !uncounted || property != Property::Fencing).collect();
        let (verdicts, open) = player.judge(&asked);
        Ok(Played {
            records: player.records,
            steps: player.steps,
            remarks,
            verdicts,
            open,
            promised: asked.into_iter().filter(promised).collect(),
            broken_assumptions: said.broken_assumptions(entry),
        })
    }

    /// What happens in the script, as rules that allow just that.
    fn rules(&self, entry: &Entry) -> Rules {
        let header = &self.header;
        let steps = || self.script.iter().flat_map(|written| written.step.with_what_is_cut_short());
        let count = |is: fn(&Step) -> bool| steps().filter(|step| is(step)).count() as u32;
        let default_order = if entry.assumptions.fifo { Order::Fifo } else { Order::Any };
        let timed = header.timing_of(entry) == Timing::Synchronous;
        let recovers = header.recovery.is_some();
        let is_timeless = recovery::is_timeless(entry, header.recovery);
        Rules {
            order: if recovers { Order::Fifo } else { header.order.unwrap_or(default_order) },
            delay_bound: (timed && !is_timeless).then_some(header.delay_bound.unwrap_or(1)),
            detector: recovers || header.detector.unwrap_or(entry.assumptions.detector),
            sessions: recovers,
            stamped_pokes: header.stamps.unwrap_or(true),
            times: header.entries_each.unwrap_or(Times::Endless),
            coordinator: None,
            elects: entry.family == Family::Election,
            absent: header.absent.iter().copied().collect(),
            bounds: Bounds {
                pokes: count(|step| matches!(step, Step::Tell(..))),
                crashes: count(|step| matches!(step, Step::Crash(_) | Step::CutShort(..))),
                restarts: count(|step| matches!(step, Step::ComeBack(_))),
                losses: count(|step| matches!(step, Step::Lose { .. })),
                duplicates: count(|step| matches!(step, Step::Get { again: true, .. })),
                withdrawals: count(|step| matches!(step, Step::Wish(_, Wish::Withdraw))),
                writes: count(|step| matches!(step, Step::Wish(_, Wish::Write))),
                suspicions: count(|step| matches!(step, Step::Suspect(..))),
                timeouts: None,
            },
            causal: false,
            sealed: header.sealed.unwrap_or(false),
        }
    }
}

/// What is written may happen.
const UNBOUNDED: Bounds = Bounds {
    pokes: u32::MAX,
    crashes: u32::MAX,
    restarts: u32::MAX,
    losses: u32::MAX,
    duplicates: u32::MAX,
    withdrawals: u32::MAX,
    writes: u32::MAX,
    suspicions: u32::MAX,
    timeouts: None,
};

impl Header {
    fn timing_of(&self, entry: &Entry) -> Timing {
        let assumed = if entry.assumptions.synchronous { Timing::Synchronous } else { Timing::Asynchronous };
        self.timing.unwrap_or(assumed)
    }

    fn check(&self, entry: &Entry) -> Result<(), ScenarioError> {
        let wrong = |why: String| Err(ScenarioError::of_header(why));
        if Id::all(self.n).all(|id| self.absent.contains(&id)) {
            return wrong(format!("all {} processes are absent: at least one must run", self.n));
        }
        if let Some((id, _)) = self.clocks.iter().find(|(id, _)| self.absent.contains(id)) {
            return wrong(format!("`clock {id}`: {id} is absent"));
        }
        if entry.family != Family::Mutex && !self.clocks.is_empty() {
            return wrong(format!("`clock` lines are for mutual exclusion; {} is for {}", entry.name, entry.family));
        }
        Ok(())
    }
}

/// A stage, and what happened on it.
struct Player<P: Process, A> {
    stage: Stage<P, A>,
    records: Vec<Record>,
    steps: Vec<String>,
}

impl<P, A> Player<P, A>
where
    P: Process<Input: Recorded, Output: Recorded>,
    A: Free<P>,
{
    /// Lets a step happen; or says why it cannot, and what can.
    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::DeliverAll => self.deliver_all(),
            Step::GetEverything(to) => self.deliver_to(*to),
            _ => {
                let choice = self.choice(step).map_err(|why| self.with_possibilities(&format!("`{step}`: {why}")))?;
                self.happen(choice)
            }
        }
    }

    fn happen(&mut self, choice: Choice<P>) -> Result<(), String> {
        if self.steps.len() == MOST_HAPPENINGS {
            return Err(format!("the script has more than {MOST_HAPPENINGS} events: write a shorter one"));
        }
        self.steps.push(self.stage.in_words(&choice));
        self.records.extend(self.stage.happen(choice));
        Ok(())
    }

    fn deliver_all(&mut self) -> Result<(), String> {
        if self.stage.letters().is_empty() {
            return Err(self.with_possibilities("`deliver all`: no message is in transit"));
        }
        for _ in 0..MOST_ARRIVALS {
            if self.stage.letters().is_empty() {
                return Ok(());
            }
            // Nothing was sent before the oldest, so it waits for nothing.
            self.happen(Choice::Deliver { place: 0, keep: false })?;
        }
        match self.stage.letters().first() {
            None => Ok(()),
            Some((_, letter)) => Err(format!(
                "`deliver all` does not end: after {MOST_ARRIVALS} arrivals, {} from {} to {} is still in transit; \
                 write each arrival as a step of its own",
                self.content(letter),
                letter.from,
                letter.to
            )),
        }
    }

    fn deliver_to(&mut self, to: Id) -> Result<(), String> {
        let waiting = self.stage.letters().iter().filter(|(_, letter)| letter.to == to).count();
        if waiting == 0 {
            return Err(
                self.with_possibilities(&format!("`{to} receives everything`: no message to {to} is in transit"))
            );
        }
        for _ in 0..waiting {
            let first = self.stage.letters().iter().position(|(_, letter)| letter.to == to);
            // What arrives may end the way of others: a crash would, but none happens here.
            let Some(place) = first else { break };
            self.happen(Choice::Deliver { place, keep: false })?;
        }
        Ok(())
    }

    /// What a step is on this stage, at this moment.
    fn choice(&self, step: &Step) -> Result<Choice<P>, String> {
        let alive = |id: &Id| self.stage.host(*id).is_alive();
        match step {
            Step::Wish(id, _) | Step::TimeOut(id, _) | Step::Crash(id) | Step::Tell(id, _) | Step::Suspect(id, _)
                if !alive(id) =>
            {
                Err(format!("{id} has crashed"))
            }
            Step::Wish(id, wish) if self.stage.host(*id).wishes().contains(wish) => Ok(Choice::Wish(*id, *wish)),
            Step::Wish(id, wish) => Err(self.why_not(*id, *wish)),
            Step::Get { to, name, from, again } => {
                let place = self.message(*from, *to, name)?;
                Ok(Choice::Deliver { place, keep: *again })
            }
            Step::Lose { name, from, to } => self.message(*from, *to, name).map(Choice::Lose),
            Step::Tell(from, to) if from == to => Err("a process sends no application message to itself".into()),
            Step::Tell(from, to) => Ok(Choice::Poke(*from, *to)),
            Step::Hear(to, from) => self.letter(*from, *to, |content| matches!(content, Content::Poke(_))),
            Step::Told { to, of, alive } => {
                let news = if *alive { Notice::Trust(*of) } else { Notice::Suspect(*of) };
                self.letter(*of, *to, |content| *content == Content::Notice(news))
            }
            Step::TimeOut(id, timer) => self.timeout(*id, timer),
            Step::Crash(id) => Ok(Choice::Crash(*id)),
            Step::ComeBack(id) if alive(id) => Err(format!("{id} has not crashed")),
            Step::ComeBack(id) => Ok(Choice::Restart(*id)),
            Step::Suspect(id, of) if self.stage.may_suspect(*id, *of) => Ok(Choice::Suspect(*id, *of)),
            Step::Suspect(id, of) => Err(format!(
                "{id} can suspect {of} only with `recovery`, while both run, and while no notification about \
                 {of} is in transit"
            )),
            Step::CutShort(step, effects) => {
                let choice = Choice::CutShort(Box::new(self.choice(step)?), *effects);
                let possible = self.stage.choices().contains(&choice);
                if possible { Ok(choice) } else { Err(format!("`{step}` has no more than {effects} effects")) }
            }
            Step::Tick if self.stage.may_tick() => Ok(Choice::Tick),
            Step::Tick => Err("time passes only with `timing synchronous`, while a message or timer waits for it and \
                               none is due before"
                .into()),
            Step::DeliverAll | Step::GetEverything(_) => unreachable!("these stand for several steps"),
        }
    }

    fn why_not(&self, id: Id, wish: Wish) -> String {
        let wishes: Vec<_> = self.stage.host(id).wishes().iter().map(|wish| format!("`{id} {wish}`")).collect();
        match wishes.is_empty() {
            true => format!("the application of {id} can do nothing now"),
            false => format!("`{wish}` is not possible now; possible for {id}: {}", wishes.join(" or ")),
        }
    }

    fn timeout(&self, id: Id, timer: &str) -> Result<Choice<P>, String> {
        let host = self.stage.host(id);
        if let Some(ripe) = host.ripe().find(|ripe| timer_name(ripe) == timer) {
            return Ok(Choice::Timeout(id, ripe.clone()));
        }
        let armed: Vec<_> = host.armed().map(|armed| timer_name(&armed)).collect();
        Err(if armed.iter().any(|armed| armed == timer) {
            format!("this timer of {id} has not expired yet")
        } else if armed.is_empty() {
            format!("{id} has no timer running")
        } else {
            format!("{id} has no such timer running; its timers are {}", armed.join(", "))
        })
    }

    /// The first letter on a way that says something like this.
    fn letter(&self, from: Id, to: Id, says: impl Fn(&Content<P::Message>) -> bool) -> Result<Choice<P>, String> {
        let is = |letter: &Letter<P::Message>| letter.from == from && letter.to == to && says(&letter.content);
        let place = self.stage.letters().iter().position(|(_, letter)| is(letter));
        let place = place.ok_or_else(|| format!("no such message or notification is in transit to {to}"))?;
        Ok(Choice::Deliver { place, keep: false })
    }

    /// The place of a message.
    fn message(&self, from: Id, to: Id, name: &Name) -> Result<usize, String> {
        let on_way: Vec<(usize, Label)> = (0..)
            .zip(self.stage.letters())
            .filter(|(_, (_, letter))| letter.from == from && letter.to == to)
            .filter_map(|(place, (_, letter))| match &letter.content {
                Content::Message(message) => Some((place, Label::of(message))),
                Content::Poke(_) | Content::Notice(_) => None,
            })
            .collect();
        let mut alike: Vec<_> = on_way.iter().filter(|(_, label)| label.to_string() == name.label).collect();
        if alike.is_empty() {
            alike = on_way.iter().filter(|(_, label)| label.kind == name.label).collect();
            let distinct = alike.iter().any(|(_, label)| *label != alike[0].1);
            if distinct && name.nth.is_none() {
                let labels: Vec<_> = alike.iter().map(|(_, label)| label.to_string()).collect();
                return Err(format!("several messages match, name one: {}", labels.join(", ")));
            }
        }
        let nth = name.nth.unwrap_or(1);
        let Some(&&(place, _)) = alike.get(nth - 1) else {
            return Err(match (alike.len(), on_way.is_empty()) {
                (0, true) => format!("no message from {from} to {to} is in transit"),
                (0, false) => format!("no such message from {from} to {to} is in transit"),
                (1, _) => "only one such message is in transit".into(),
                (count, _) => format!("only {count} such messages are in transit"),
            });
        };
        if !self.stage.is_next(place) {
            let before = on_way.first().map_or(String::new(), |(_, label)| label.to_string());
            return Err(format!("{before} was sent earlier and arrives first with `order fifo`"));
        }
        Ok(place)
    }

    fn content(&self, letter: &Letter<P::Message>) -> String {
        match &letter.content {
            Content::Message(message) => Label::of(message).to_string(),
            Content::Poke(_) => "an application message".into(),
            Content::Notice(_) => "a notification".into(),
        }
    }

    /// An error, with what could be written instead.
    fn with_possibilities(&self, why: &str) -> String {
        let ordinary = |choice: &Choice<P>| match choice {
            Choice::Wish(..) | Choice::Deliver { keep: false, .. } | Choice::Timeout(..) | Choice::Tick => true,
            // These may happen nearly always.
            Choice::Deliver { .. }
            | Choice::Lose(_)
            | Choice::Poke(..)
            | Choice::Crash(_)
            | Choice::Restart(_)
            | Choice::Suspect(..)
            | Choice::CutShort(..) => false,
        };
        let choices = self.stage.choices().into_iter().filter(ordinary);
        let possible: Vec<_> = choices.map(|choice| self.stage.in_words(&choice)).collect();
        if possible.is_empty() {
            return format!("{why}; no step is possible here: no message is in transit and no process waits");
        }
        let (shown, rest) = possible.split_at(possible.len().min(MOST_POSSIBILITIES));
        let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
        format!("{why}; possible here: {}{more}", shown.join(", "))
    }

    /// What the run says about properties: about those that need its end only if nothing is left that has to happen.
    fn judge(&self, properties: &[Property]) -> (Vec<(Property, Verdict)>, Vec<Property>) {
        let quiet = self.stage.is_quiet();
        let (judged, open): (Vec<_>, Vec<_>) = properties.iter().partition(|property| property.is_safety() || quiet);
        let verdict = |property: Property| {
            let mut monitor = Monitor::new(property, self.stage.n());
            let broken = self.records.iter().find_map(|record| monitor.observe(record));
            broken.or_else(|| monitor.end(self.steps.len() as u64 * DELTA)).map_or(Verdict::Held, Verdict::Violated)
        };
        (judged.into_iter().map(|property| (property, verdict(property))).collect(), open)
    }
}
