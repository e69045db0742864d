//! One file a command.

pub(crate) mod algorithms;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod definitions;
pub(crate) mod diagram;
pub(crate) mod exercise;
pub(crate) mod judge;
pub(crate) mod lab;
pub(crate) mod service;
pub(crate) mod violation;
pub(crate) mod voting_sets;
