//! A worker that fences its writes to PostgreSQL: `fenced-postgres DATABASE NAME ROUNDS`.
//!
//! A row has a number. In each round the worker gets a lock, reads the number, and writes a larger one. It may be
//! paused at any moment for longer than its lease lasts, without knowing; then its write is refused, and no count is
//! lost.
//!
//! The check of the fence and what depends on it are *one statement*, so nothing can come in between: PostgreSQL locks
//! the row, and looks at the condition once more if somebody has changed it meanwhile (also in its default isolation,
//! READ COMMITTED). A `SELECT` of the fence before an `UPDATE` without it would be a race.
//!
//! - [`ENTER`] shows the fence to the row, and reads the number. From then on every smaller fence is refused, also
//!   before this worker has written anything.
//! - [`WRITE`] writes, unless somebody with a larger fence has entered in between.
//!
//! In a transaction of several statements, let the first one be [`ENTER`]: its lock on the row keeps others out until
//! the transaction has ended.
//!
//! The table is made by `schema.sql`; DATABASE is as in `host=/run/postgresql user=me dbname=test`. `test` beside this
//! file shows all of it with a server of its own.

use std::time::Duration;

use quorate_client::Error;
use tokio_postgres::NoTls;

/// How long the lease lasts without renewal.
const TTL: Duration = Duration::from_secs(1);

/// Shows a fence to the row, or makes the row. Returns nothing if a larger one has been there.
const ENTER: &str = "INSERT INTO counters AS counter (name, fence, number) VALUES ($1, $2, 0) \
    ON CONFLICT (name) DO UPDATE SET fence = EXCLUDED.fence WHERE counter.fence <= EXCLUDED.fence RETURNING number";
/// Writes the number, unless a larger fence has been shown.
const WRITE: &str = "UPDATE counters SET number = $3 WHERE name = $1 AND fence = $2";

/// A row that refuses smaller fences than it has seen.
struct FencedRow {
    database: tokio_postgres::Client,
    name: &'static str,
}

impl FencedRow {
    /// The number, or nothing if the fence is refused.
    async fn enter(&self, fence: i64) -> Result<Option<i64>, tokio_postgres::Error> {
        let row = self.database.query_opt(ENTER, &[&self.name, &fence]).await?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Whether the number was written.
    async fn write(&self, fence: i64, number: i64) -> Result<bool, tokio_postgres::Error> {
        Ok(self.database.execute(WRITE, &[&self.name, &fence, &number]).await? == 1)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, name, rounds] = &arguments[..] else {
        return Err("usage: fenced-postgres DATABASE NAME ROUNDS".into());
    };
    let rounds: u64 = rounds.parse()?;
    let (database, connection) = tokio_postgres::connect(database, NoTls).await?;
    // It ends when the client is dropped.
    tokio::spawn(connection);
    let row = FencedRow { database, name: "visits" };
    let endpoints = std::env::var("QUORATE_ENDPOINTS").unwrap_or_else(|_| "127.0.0.1:7420".into());
    let client = quorate_client::Client::new(endpoints.split(','))?;
    let mut session = client.session().ttl(TTL).label(name).open().await?;
    let (mut accepted, mut refused) = (0, 0);
    while accepted < rounds {
        let guard = match session.lock("visits").acquire().await {
            Ok(guard) => guard,
            Err(Error::SessionOver(_)) => {
                // It was paused for so long that nobody believes in it any more: it begins anew.
                session = client.session().ttl(TTL).label(name).open().await?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        // A fence is below 2^53, so it fits.
        let fence = i64::try_from(guard.fence())?;
        let written = match row.enter(fence).await? {
            Some(number) => row.write(fence, number + 1).await?,
            None => false,
        };
        if written {
            accepted += 1;
        } else {
            refused += 1;
        }
        // Who has lost it cannot give it back, and is told so by the next request.
        let _ = guard.release().await;
    }
    println!("{name}: {accepted} writes accepted, {refused} refused");
    session.close().await?;
    Ok(())
}
