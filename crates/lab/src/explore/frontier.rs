//! States in a row, each with its fingerprint: a level of the search, or all that are kept.

/// States in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Frontier {
    words: Vec<u32>,
    ends: Vec<usize>,
    pub(super) fingerprints: Vec<u64>,
}

impl Frontier {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn state(&self, index: usize) -> &[u32] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.words[start..self.ends[index]]
    }

    pub(super) fn push(&mut self, state: &[u32], fingerprint: u64) {
        self.words.extend_from_slice(state);
        self.ends.push(self.words.len());
        self.fingerprints.push(fingerprint);
    }

    /// Puts all of the other's states behind its own.
    pub(super) fn append(&mut self, other: Frontier) {
        if self.len() == 0 {
            *self = other;
            return;
        }
        let offset = self.words.len();
        self.words.extend_from_slice(&other.words);
        self.ends.extend(other.ends.iter().map(|end| end + offset));
        self.fingerprints.extend_from_slice(&other.fingerprints);
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * 4 + self.ends.capacity() * 8 + self.fingerprints.capacity() * 8
    }
}
