//! Five programs, as five machines would run them: what a plain round trip takes among them, and what an entry.
//!
//! This program runs itself again for the four others. Each is a node, and sends back what it is sent elsewhere: so a
//! round trip and an entry go between the same programs, on the same threads, wherever the system lets them run.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use quorate_net::{Config, Node};
use rustix::time::{ClockId, clock_gettime};
use tokio::net::{TcpListener, TcpStream};

use crate::ports::free_addresses;
use crate::{MOST_IDLE, MOST_MESSAGES, MOST_ROUND_TRIPS, NODES, Plain, ROUNDS, median, micros, ratio, send_back};

/// For so long a turn is held where all want it. So long is a turn of all five that whoever had the first one has asked
/// again by the end of it.
const HELD: Duration = Duration::from_millis(1);

/// Another program of the group. It ends with this one.
struct Other {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Other {
    fn run(arguments: &[String]) -> Other {
        let mut command = Command::new(env::current_exe().unwrap());
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Other { child, said }
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().into()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It ends when there is nobody left to tell it anything.
        drop(self.child.stdin.take());
        _ = self.child.wait();
    }
}

/// What this program does when it is one of the others, if it is.
pub(crate) async fn be_another() -> bool {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.split_first() {
        Some((role, rest)) if role == "member" => member(rest).await,
        _ => return false,
    }
    true
}

async fn member(arguments: &[String]) {
    let (data, rest) = arguments.split_first().unwrap();
    let (id, members) = rest.split_first().unwrap();
    let node = join(id.parse().unwrap(), members, Path::new(data)).await;
    drop(node.lock("printer").await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    tokio::spawn(send_back(listener.accept().await.unwrap().0));
    let lines = tokio::task::spawn_blocking(|| std::io::stdin().lines().next().is_some());
    if lines.await.unwrap() {
        let turns: Vec<_> = contend(&node).await.iter().map(|(from, to)| format!("{from} {to}")).collect();
        println!("{}", turns.join(" "));
    }
    // The others are not done yet.
    _ = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await;
}

async fn join(id: u32, members: &[String], data: &Path) -> Node {
    Node::join(Config::new(id, members.to_vec()).data(data.join(id.to_string()))).await.unwrap()
}

/// From when to when it had each of its turns, in nanoseconds of a clock that all programs of a machine share.
async fn contend(node: &Node) -> Vec<(u64, u64)> {
    let mut turns = Vec::new();
    for _ in 0..ROUNDS / NODES as usize {
        let guard = node.lock("printer").await.unwrap();
        let from = now();
        while now() < from + HELD.as_nanos() as u64 {
            // A machine that sleeps is another one than round trips are measured on.
            tokio::task::yield_now().await;
        }
        turns.push((from, now()));
        drop(guard);
        // The others have theirs in the meantime; what is asked again is not what is measured.
        tokio::time::sleep(HELD).await;
    }
    turns
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Measures, and prints what came of it.
pub(crate) async fn measure(data: &Path, times: usize, missed: &mut Vec<String>) {
    println!("five programs");
    let members = free_addresses(NODES as usize);
    let node = join(1, &members, data).await;
    let mut others: Vec<_> = (2..=NODES)
        .map(|id| {
            let mut arguments = vec!["member".into(), data.display().to_string(), id.to_string()];
            arguments.extend(members.iter().cloned());
            Other::run(&arguments)
        })
        .collect();
    let mut streams = Vec::new();
    for other in &mut others {
        streams.push(TcpStream::connect(other.next_line()).await.unwrap());
    }
    let mut plain = Plain::over(streams);
    drop(node.lock("printer").await.unwrap());

    let (round_trip, entry) = crate::in_turns(&mut plain, &node, "", times).await;
    crate::print_entry(round_trip, entry);
    check("an uncontended entry", ratio(entry, round_trip), MOST_ROUND_TRIPS, missed);

    for other in &mut others {
        other.tell("contend");
    }
    let mut turns = contend(&node).await;
    for other in &mut others {
        let numbers: Vec<u64> = other.next_line().split(' ').map(|number| number.parse().unwrap()).collect();
        turns.extend(numbers.chunks(2).map(|turn| (turn[0], turn[1])));
    }
    turns.sort_unstable();
    let between = turns.windows(2).map(|two| {
        let ((_, left), (entered, _)) = (two[0], two[1]);
        Duration::from_nanos(entered.checked_sub(left).expect("two were inside"))
    });
    let between: Vec<_> = between.collect();
    let (count, hand_over) = (between.len(), median(between));
    println!(
        "from an exit to the next entry          {:>9.1} µs  {:.2} one-way messages, median of {count}",
        micros(hand_over),
        ratio(hand_over, round_trip / 2)
    );
    check("from an exit to the next entry", ratio(hand_over, round_trip / 2), MOST_MESSAGES, missed);

    let mut programs = vec!["self".to_string()];
    programs.extend(others.iter().map(|other| other.child.id().to_string()));
    let share = crate::idle(&programs, Duration::from_secs(20)).await;
    println!("an idle group of five                   {:>9.2} % of a core", share * 100.0);
    check("an idle group of five, in hundredths of a core", share * 100.0, MOST_IDLE * 100.0, missed);
}

/// Says what is demanded, and notes what is not met.
fn check(what: &str, measured: f64, most: f64, missed: &mut Vec<String>) {
    println!("                                          demanded: {most} at most");
    if measured > most {
        missed.push(format!("{what}: {measured:.3}, and {most} is demanded"));
    }
}
