//! Which part of a list somebody wants, from the address of its request; what is wrong with it is said by name.

use std::collections::VecDeque;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use quorate_client::contract::{LONGEST_NAME, Listing, MOST_LISTED, Problem};

use super::problems::Failure;
use crate::machine::{Kind, Machine, Name};

/// A part of a list, as it was asked for.
pub(super) struct Part {
    /// In lower case.
    search: Option<String>,
    pub(super) after: Option<String>,
    /// Then the last ones are wanted.
    pub(super) before: Option<String>,
    pub(super) limit: usize,
    pub(super) waiting: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Part, Failure> {
        match axum::extract::Query::<Listing>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(listing)) => checked(listing),
            Err(rejection) => {
                let why = rejection.body_text();
                // As in "…: limit: invalid digit found in string" and "…: unknown field `limits`, expected one of …".
                let named = why.split('`').nth(1).filter(|_| why.contains("field `"));
                let field = named.or_else(|| why.rsplit(": ").nth(1)).unwrap_or("limit").to_string();
                Err(Problem::of_field(&field, format!("malformed query string: {why}")).into())
            }
        }
    }
}

fn checked(listing: Listing) -> Result<Part, Failure> {
    let Listing { search, after, before, limit, waiting } = listing;
    for (field, text) in [("search", &search), ("after", &after), ("before", &before)] {
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_NAME) {
            return Err(Problem::of_field(field, format!("too long: at most {LONGEST_NAME} bytes are accepted")).into());
        }
    }
    let limit = limit.unwrap_or(MOST_LISTED);
    if !(1..=MOST_LISTED).contains(&limit) {
        return Err(Problem::of_field("limit", format!("the limit must be 1 to {MOST_LISTED}")).into());
    }
    let search = search.filter(|search| !search.is_empty()).map(|search| search.to_lowercase());
    Ok(Part { search, after, before, limit: limit as usize, waiting })
}

impl Part {
    /// Whether this has the text that is looked for.
    pub(super) fn finds(&self, text: &str) -> bool {
        self.search.as_ref().is_none_or(|search| text.to_lowercase().contains(search))
    }

    /// The names that belong to this part, and how many there are before it, in it and after it.
    pub(super) fn names(&self, machine: &Machine, kind: Kind) -> (Vec<Name>, u64) {
        let (mut names, mut total) = (VecDeque::new(), 0);
        for name in machine.names().filter(|name| name.kind == kind && self.finds(&name.text)) {
            if self.waiting && machine.crowd(name).1 == 0 {
                continue;
            }
            total += 1;
            let is_after = self.after.as_ref().is_none_or(|after| *name.text > **after);
            let is_before = self.before.as_ref().is_none_or(|before| *name.text < **before);
            if is_after && is_before {
                self.take(&mut names, name);
            }
        }
        (names.into_iter().cloned().collect(), total)
    }

    /// Takes one more, in order: the first ones that fit, or else the last ones.
    pub(super) fn take<T>(&self, taken: &mut VecDeque<T>, one: T) {
        if taken.len() < self.limit {
            taken.push_back(one);
        } else if self.before.is_some() {
            taken.pop_front();
            taken.push_back(one);
        }
    }
}
