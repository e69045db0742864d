//! What the locks protect: files, one for each, that remember the largest fence they were shown and refuse smaller
//! ones.

use std::fs::{File, read_to_string};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that checks fences. Many processes write to it, one at a time.
pub(crate) struct Resource {
    path: PathBuf,
}

impl Resource {
    /// The resource that a lock protects.
    pub(crate) fn of(directory: &Path, lock: &str) -> Resource {
        Resource { path: directory.join(format!("resource-{lock}")) }
    }

    /// Writes something under a fence, and says whether it was accepted.
    pub(crate) fn write(&self, fence: u64, who: &str) -> std::io::Result<bool> {
        let mut file = File::options().create(true).read(true).append(true).open(&self.path)?;
        // It is unlocked when it is closed.
        file.lock()?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))?;
        let mut end = String::new();
        file.read_to_string(&mut end)?;
        let largest = end.lines().last().and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0);
        if fence < largest {
            return Ok(false);
        }
        file.write_all(format!("{fence} {who}\n").as_bytes())?;
        Ok(true)
    }

    /// What is wrong with what was accepted: a fence that two have used, or one that is smaller than the one before.
    pub(crate) fn complaint(&self) -> Option<String> {
        let text = read_to_string(&self.path).unwrap_or_default();
        let mut before: Option<(u64, &str)> = None;
        for line in text.lines() {
            let (fence, who) = line.split_once(' ')?;
            let now = (fence.parse().ok()?, who);
            if let Some(before) = before
                && (now.0 < before.0 || now.0 == before.0 && now.1 != before.1)
            {
                return Some(format!("{}: {now:?} was accepted after {before:?}", self.path.display()));
            }
            before = Some(now);
        }
        None
    }
}

/// No line is longer.
const LONGEST: u64 = 100;
