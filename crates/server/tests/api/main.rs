//! What is said over HTTP, against a real node on a real port with a real disk: that the document is true, that broken
//! requests are answered by name, and that the figures are those of what happened.

mod broken;
mod figures;
mod openapi;
mod page;
mod schema;
mod served;
