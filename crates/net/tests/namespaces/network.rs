//! A network of the test's own: a namespace for each host, whose cables all end in one more, where the
//! [wire](crate::wire) joins them. All of it ends with the process that has made it, and nothing of this machine is
//! touched.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// What one needs to run inside.
const FLAGS: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// What is done there to see whether it can be done.
const PROBE: &str = "mount -t tmpfs none /run && ip netns add probe && \
                     ip link add probe type veth peer name eth0 netns probe";

/// A command that runs another one inside namespaces of its own.
pub(crate) fn inside() -> Command {
    let mut command = Command::new("unshare");
    if !std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(FLAGS);
    command
}

/// Why nothing can be run inside, if so.
pub(crate) fn obstacle() -> Option<String> {
    let why = match inside().args(["sh", "-c", PROBE]).output() {
        Err(error) => format!("unshare: {error}"),
        Ok(output) if !output.status.success() => String::from_utf8_lossy(&output.stderr).trim().to_string(),
        Ok(_) => return None,
    };
    Some(format!(
        "cannot make network namespaces ({why}): this needs root, or user namespaces, and the Debian packages \
         util-linux and iproute2"
    ))
}

/// Where a host is.
pub(crate) fn address(host: u32) -> String {
    format!("10.78.0.{host}")
}

fn hardware(host: u32) -> String {
    format!("02:00:00:00:00:{host:02x}")
}

/// Whose hardware address this is.
pub(crate) fn host_of(hardware: &[u8]) -> Option<u32> {
    match hardware {
        [2, 0, 0, 0, 0, host] => Some(u32::from(*host)),
        _ => None,
    }
}

/// Builds hosts 1 to n, and the ends of their cables here.
pub(crate) fn build(hosts: u32) {
    run("mount -t tmpfs none /run");
    run("ip link set lo up");
    for host in 1..=hosts {
        run(&format!("ip netns add at{host}"));
        run(&format!("ip link add wire{host} type veth peer name eth0 netns at{host}"));
        run(&format!("ip link set wire{host} up"));
        run(&format!("ip -n at{host} link set eth0 address {} gso_max_segs 1", hardware(host)));
        run(&format!("ip -n at{host} address add {}/24 dev eth0", address(host)));
        run(&format!("ip -n at{host} link set eth0 up"));
        run(&format!("ip -n at{host} link set lo up"));
        for other in (1..=hosts).filter(|&other| other != host) {
            let (address, hardware) = (address(other), hardware(other));
            run(&format!("ip -n at{host} neighbour add {address} lladdr {hardware} dev eth0 nud permanent"));
        }
    }
}

/// A command at a host.
pub(crate) fn at(host: u32, program: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &format!("at{host}")]).arg(program);
    command
}

/// Runs a command that has to succeed.
pub(crate) fn run(line: &str) {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command has a name");
    let output = Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}
