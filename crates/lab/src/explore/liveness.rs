//! Cycles on which somebody waits for ever.
