//! Traces of nodes, from their files: lines are checked one by one, so that what follows can rely on them.

use quorate_core::catalog::{self, Family};
use quorate_core::clock::Fence;
use quorate_core::id::Id;
use quorate_core::journal::{Entry, Header, Mark, Moment, Past, VERSION};
use quorate_core::process::Ticks;
use quorate_core::trace::What;
use thiserror::Error;

/// One life of a node, as far as it was written down.
#[derive(Clone, Debug)]
pub struct Life {
    /// The file it is in.
    pub file: String,
    /// The line it begins with.
    pub line: usize,
    /// How it begins.
    pub header: Header,
    /// What happened, in order, each with its line.
    pub entries: Vec<(u32, Entry)>,
    /// How many records are missing, and after which places.
    pub gaps: Vec<(usize, u64)>,
    /// When it ended, if it stopped in an orderly way.
    pub ended: Option<Ticks>,
    /// Whether its last line is not whole.
    pub is_torn: bool,
}

/// Why a file is no trace. Nothing was judged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}, line {line}: {why}")]
pub struct TraceError {
    /// Which file.
    pub file: String,
    /// Where.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

enum Line {
    Mark(Mark),
    Entry(Box<Entry>),
}

/// Reads a file of this name: the lives of a node, in the order in which they were written.
///
/// What was torn when a node was killed, at the end of the file or before another life, has not been written.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Life>, TraceError> {
    let error = |line: usize, why: String| TraceError { file: file.into(), line, why };
    let mut lives: Vec<Life> = Vec::new();
    let mut torn: Option<(usize, String)> = None;
    for (line, bytes) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(bytes) {
            Ok(Line::Mark(Mark::Header(header))) => {
                check_header(&header).map_err(|why| error(line, why))?;
                if let (Some(_), Some(life)) = (torn.take(), lives.last_mut()) {
                    life.is_torn = true;
                }
                let (file, entries, gaps) = (file.to_string(), Vec::new(), Vec::new());
                lives.push(Life { file, line, header, entries, gaps, ended: None, is_torn: false });
            }
            parsed => {
                if let Some((line, why)) = torn {
                    return Err(error(line, why));
                }
                match parsed {
                    Ok(line_read) => {
                        let life = lives
                            .last_mut()
                            .ok_or_else(|| error(line, "the trace does not begin with a header".into()));
                        life?.add(line, line_read).map_err(|why| error(line, why))?;
                    }
                    Err(why) => torn = Some((line, why)),
                }
            }
        }
    }
    match (torn, lives.last_mut()) {
        (Some(_), Some(life)) if !bytes.ends_with(b"\n") => life.is_torn = true,
        (Some((line, why)), _) => return Err(error(line, why)),
        (None, _) => {}
    }
    if lives.is_empty() {
        return Err(error(1, "the file contains no trace; `quorate serve --trace` writes one".into()));
    }
    Ok(lives)
}

/// How deep values are within each other at most: a label within a record.
fn parse(bytes: &[u8]) -> Result<Line, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_string())?;
    let explain = |error: serde_json::Error| format!("not a line of a trace: {error}");
    // Quotes within a string are escaped, so that only a record has this.
    if text.contains("\"event\":") {
        if !text.contains("\"past\":") {
            let why = "this is a trace of `quorate sim`, which has judged its run; `judge` takes traces of real nodes";
            return Err(why.into());
        }
        return serde_json::from_str(text).map(|entry| Line::Entry(Box::new(entry))).map_err(explain);
    }
    serde_json::from_str(text).map(Line::Mark).map_err(explain)
}

fn check_header(header: &Header) -> Result<(), String> {
    if header.version != VERSION {
        let version = header.version;
        return Err(format!(
            "the trace has version {version}, this program reads version {VERSION}: use the same version for both"
        ));
    }
    if header.n == 0 || header.n > Fence::MOST_PROCESSES || header.process.number() > header.n {
        return Err(format!("the header names process {} of {} processes", header.process, header.n));
    }
    let entry = catalog::entry(&header.algorithm).map_err(|error| error.to_string())?;
    if entry.family != Family::Mutex {
        return Err(format!("{} is not a mutual exclusion algorithm", entry.name));
    }
    Ok(())
}

impl Life {
    fn add(&mut self, line: usize, read: Line) -> Result<(), String> {
        if self.ended.is_some() {
            return Err("a record follows the end of an incarnation; expected a header".into());
        }
        match read {
            Line::Mark(Mark::Gap { lost }) => self.gaps.push((self.entries.len(), lost)),
            Line::Mark(Mark::End { at }) => self.ended = Some(at),
            Line::Mark(Mark::Header(_)) => {}
            Line::Entry(entry) => {
                self.check(&entry)?;
                self.entries.push((u32::try_from(line).unwrap_or(u32::MAX), *entry));
            }
        }
        Ok(())
    }

    fn check(&self, entry: &Entry) -> Result<(), String> {
        let Header { process, n, .. } = self.header;
        if entry.record.process != process {
            return Err(format!("the record is of {}, but the trace is of {process}", entry.record.process));
        }
        if entry.past.len() != n as usize {
            return Err(format!("the vector clock has {} entries, but there are {n} processes", entry.past.len()));
        }
        if let Some(stranger) = named(&entry.record.what).filter(|id| id.number() > n) {
            return Err(format!("the record names {stranger}, but there are {n} processes"));
        }
        if self.header.started.checked_add(entry.record.at).is_none() {
            return Err("the time is too large".into());
        }
        let nothing = Past::new(n);
        let before = self.entries.last().map_or(&nothing, |(_, last)| &last.past);
        let (Moment(life_before, count_before), Moment(life, count)) = (before.of(process), entry.moment());
        // Who notes what its application did adds no moment of its own.
        if life == 0 || (life, count) < (life_before, count_before) {
            return Err(format!(
                "the record has the position [{life},{count}], but follows [{life_before},{count_before}]"
            ));
        }
        if life == life_before && before.iter().any(|(id, moment)| entry.past.of(id) < moment) {
            return Err("the vector clock is behind that of the line before".into());
        }
        Ok(())
    }

    /// How many records are missing.
    pub fn lost(&self) -> u64 {
        self.gaps.iter().fold(0, |lost, (_, more)| lost.saturating_add(*more))
    }

    /// Whether records may be missing after this place.
    pub(super) fn is_whole_after(&self, place: usize) -> bool {
        self.ended.is_some() && self.gaps.iter().all(|&(at, _)| at <= place)
    }
}

/// Whom a record names, besides whom it is about.
fn named(what: &What) -> Option<Id> {
    match what {
        What::Sent { to, .. } | What::Lost { to, .. } | What::Poked { to, .. } => Some(*to),
        What::Received { from, .. } | What::Heard { from, .. } => Some(*from),
        What::Told { of, .. } | What::Opinion { of, .. } => Some(*of),
        What::Leader { leader } => Some(*leader),
        What::Unexpected { from, .. } => *from,
        What::Wanted
        | What::Withdrew
        | What::Withdrawn
        | What::Entered { .. }
        | What::Leaving
        | What::Exited
        | What::Read { .. }
        | What::Wrote { .. }
        | What::Called
        | What::TimedOut { .. }
        | What::Crashed
        | What::Stopped
        | What::Restarted { .. }
        | What::Paused
        | What::Resumed
        | What::Partitioned { .. }
        | What::Healed => None,
    }
}
