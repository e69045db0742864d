//! Traces that may be anything, for those who throw bytes at their reader: it must neither panic nor take memory
//! without bound, whatever is in a file.

use super::judge;

/// Reads a file, and judges what is in it; says whether it made sense.
pub fn read(bytes: &[u8]) -> bool {
    let Ok(lives) = super::read("trace", bytes) else { return false };
    // Traces that contradict each other are refused; others are judged, whatever they say.
    if let Ok(judgement) = judge(lives, None) {
        _ = (judgement.severity(), judgement.json());
    }
    true
}

/// What makes sense: a life that was killed; three nodes in one file; both.
pub fn seeds() -> Vec<Vec<u8>> {
    let killed = include_bytes!("seeds/killed.trace");
    let others = include_bytes!("seeds/others.trace");
    vec![killed.to_vec(), others.to_vec(), [&killed[..], &others[..]].concat()]
}
