//! The Rust program in the README is the example `embed`, and three processes of it take the lock one after the other.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[path = "../../../tests/ports.rs"]
mod ports;

#[test]
fn the_program_in_the_readme_is_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let program = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let example = include_str!("../examples/embed.rs");
    let code = example.split_once("\n\n").unwrap().1;
    assert_eq!(program, code);
}

/// A node that is killed with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn three_nodes_of_it_hold_the_lock_one_after_the_other() {
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/embed");
    let members = ports::free_addresses(3);
    // The nodes keep their data in the directory in which they are started.
    let directory = std::env::temp_dir().join(format!("quorate-embed-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let start = |id: u32| {
        let mut command = Command::new(&program);
        let command = command.arg(id.to_string()).args(&members).current_dir(&directory).stdout(Stdio::piped());
        Killed(command.spawn().unwrap())
    };
    let mut nodes = [1, 2, 3].map(start);
    let fences = (1..).zip(&mut nodes).map(|(id, node)| {
        let mut line = String::new();
        BufReader::new(node.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let fence = line.trim().strip_prefix(&format!("node {id} holds the lock, with fence "));
        fence.unwrap_or_else(|| panic!("node {id} printed {line:?}")).parse::<u64>().unwrap()
    });
    let mut fences: Vec<u64> = fences.collect();
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), 3, "every grant has a fence of its own");
    drop(nodes);
    std::fs::remove_dir_all(directory).unwrap();
}
