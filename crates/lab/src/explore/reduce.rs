//! Reduction: placeholder while the search is built.

use quorate_core::process::Process;
use quorate_core::trace::Recorded;

use super::machine::{Act, Machine};
use super::successor::Change;
use crate::stage::wish::Free;

#[derive(Debug)]
pub(super) struct Reduction;
#[derive(Debug)]
pub(super) struct Lacking;

impl Reduction {
    pub(super) fn ample<P, A>(
        &self,
        _: &Machine<P, A>,
        _: &[u32],
        _: u64,
        _: &[Act],
        _: &mut Change,
        _: impl Fn(u64) -> bool,
    ) -> Result<Option<Act>, Lacking>
    where
        P: Process<Input: Recorded, Output: Recorded>,
        A: Free<P>,
    {
        Ok(None)
    }
    pub(super) fn provide<P: Process, A>(&mut self, _: &mut Machine<P, A>, _: Lacking) {}
}
