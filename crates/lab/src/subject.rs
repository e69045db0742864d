//! The algorithm that something is about: one of the catalogue, by its name, or any other, by its type.
//!
//! What is generic over the algorithm is a [`Visitor`]; a [`Subject`] lets it see the algorithm. So whatever the
//! laboratory does with an algorithm is written once, for those in this repository and for those outside.

use std::marker::PhantomData;

use quorate_core::catalog::{self, Entry, UnknownAlgorithm, Visitor};
use quorate_core::election::Election;
use quorate_core::mutex::Mutex;

use crate::experiment::{Experiment, ExperimentError, Spectators};
use crate::explore::{Exploration, ExplorationError, Findings, Progress};
use crate::report::Report;
use crate::scenario::{Played, Scenario, ScenarioError};

/// An algorithm, however it was chosen.
pub trait Subject {
    /// What is known of it.
    fn entry(&self) -> &'static Entry;

    /// Lets a visitor see it.
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output;

    /// Explores it.
    fn explore(
        &self,
        exploration: &Exploration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Findings, ExplorationError>
    where
        Self: Sized,
    {
        exploration.run_visited(self, progress)
    }

    /// Simulates it.
    fn simulate(&self, experiment: &Experiment, spectators: Spectators<'_>) -> Result<Report, ExperimentError>
    where
        Self: Sized,
    {
        experiment.run_visited(self, spectators)
    }

    /// Plays a scenario with it.
    fn play(&self, scenario: &Scenario) -> Result<Played, ScenarioError>
    where
        Self: Sized,
    {
        scenario.play_visited(self)
    }
}

/// An algorithm of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Named(&'static Entry);

impl Named {
    /// The algorithm of this name.
    pub fn new(name: &str) -> Result<Named, UnknownAlgorithm> {
        catalog::entry(name).map(Named)
    }
}

impl Subject for Named {
    fn entry(&self) -> &'static Entry {
        self.0
    }

    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        catalog::visit(self.0.name, visitor).expect("the entry is one of the catalogue")
    }

    // These say what is said above; here, so that what runs all algorithms is compiled once, not wherever it is used.

    fn explore(
        &self,
        exploration: &Exploration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Findings, ExplorationError> {
        exploration.run_visited(self, progress)
    }

    fn simulate(&self, experiment: &Experiment, spectators: Spectators<'_>) -> Result<Report, ExperimentError> {
        experiment.run_visited(self, spectators)
    }

    fn play(&self, scenario: &Scenario) -> Result<Played, ScenarioError> {
        scenario.play_visited(self)
    }
}

/// A mutual exclusion algorithm, by its type.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfMutex<M>(PhantomData<M>);

impl<M> OfMutex<M> {
    /// The algorithm `M`.
    pub const fn new() -> OfMutex<M> {
        OfMutex(PhantomData)
    }
}

impl<M: Mutex> Subject for OfMutex<M> {
    fn entry(&self) -> &'static Entry {
        const { &M::ENTRY }
    }

    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.mutex::<M>()
    }
}

/// An election, by its type.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfElection<E>(PhantomData<E>);

impl<E> OfElection<E> {
    /// The algorithm `E`.
    pub const fn new() -> OfElection<E> {
        OfElection(PhantomData)
    }
}

impl<E: Election> Subject for OfElection<E> {
    fn entry(&self) -> &'static Entry {
        const { &E::ENTRY }
    }

    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.election::<E>()
    }
}
