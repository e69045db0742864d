//! A map from pairs of numbers to numbers, for the one question that is asked at every step of the search.
//!
//! A key and its value lie beside each other, so that an answer takes one access to memory where a general map takes
//! two.

/// Open addressing, linear probing, at most half full.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    slots: Vec<(u64, u32)>,
    len: usize,
}

const EMPTY: u64 = u64::MAX;

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs { slots: vec![(EMPTY, 0); 64], len: 0 }
    }
}

impl Pairs {
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[slot].0 != key && self.slots[slot].0 != EMPTY {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[inline]
    pub(super) fn get(&self, a: u32, b: u32) -> Option<u32> {
        let key = pack(a, b);
        let (found, value) = self.slots[self.slot(key)];
        (found == key).then_some(value)
    }

    /// Adds a pair that is not there.
    pub(super) fn insert(&mut self, a: u32, b: u32, value: u32) {
        let slot = self.slot(pack(a, b));
        debug_assert_eq!(self.slots[slot].0, EMPTY, "each pair is added once");
        self.slots[slot] = (pack(a, b), value);
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            let size = self.slots.len() * 2;
            let slots = std::mem::replace(&mut self.slots, vec![(EMPTY, 0); size]);
            for (key, value) in slots.into_iter().filter(|(key, _)| *key != EMPTY) {
                let slot = self.slot(key);
                self.slots[slot] = (key, value);
            }
        }
    }
}

#[inline]
fn pack(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_and_nothing_else() {
        let mut pairs = Pairs::default();
        for a in 0..100 {
            for b in (0..100).filter(|b| (a + b) % 3 != 0) {
                pairs.insert(a, b, a * 1000 + b);
            }
        }
        for a in 0..101 {
            for b in 0..101 {
                let expected = (a < 100 && b < 100 && (a + b) % 3 != 0).then_some(a * 1000 + b);
                assert_eq!(pairs.get(a, b), expected);
            }
        }
    }
}
