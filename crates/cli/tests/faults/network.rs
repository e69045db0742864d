//! A network of the harness's own: a namespace for each node and one for the clients, with a router between them that
//! loses packets from one to another on request, in one direction or in both. Nobody is told that they are lost.
//!
//! The harness runs itself again inside new namespaces of network, mounts and processes, so that nothing of this
//! machine is touched and nothing is left behind, whatever becomes of it.

use std::process::Command;

/// Where the clients are; nodes are numbered from 1.
pub(crate) const CLIENTS: usize = 9;

/// What one needs to run inside.
const FLAGS: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
/// What is done there to see whether it can be done: whatever [`Network::new`] needs.
const PROBE: &str = "mount -t tmpfs none /run && ip netns add probe && \
                     ip link add probe type veth peer name eth0 netns probe && \
                     ip rule add from 10.77.1.1 to 10.77.2.1 blackhole && \
                     echo 1 > /proc/sys/net/ipv4/ip_forward";

/// A command that runs another one inside namespaces of its own.
pub(crate) fn inside() -> Command {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(FLAGS);
    command
}

/// Why nothing can be run inside, if so.
pub(crate) fn obstacle() -> Option<String> {
    let explain = |why: &str| {
        format!(
            "cannot make network namespaces ({}): this needs root, or user namespaces, and the Debian packages \
             util-linux and iproute2",
            why.trim()
        )
    };
    match inside().args(["sh", "-c", PROBE]).output() {
        Err(error) => Some(explain(&format!("unshare: {error}"))),
        Ok(output) if !output.status.success() => Some(explain(&String::from_utf8_lossy(&output.stderr))),
        Ok(_) => None,
    }
}

/// The network.
pub(crate) struct Network {
    /// From whom to whom packets are lost.
    cuts: Vec<(usize, usize)>,
}

/// Where somebody is.
pub(crate) fn address(place: usize) -> String {
    format!("10.77.{place}.1")
}

/// A command in a place of the network.
pub(crate) fn at(place: usize, program: &std::path::Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &format!("at{place}")]).arg(program);
    command
}

impl Network {
    /// Builds the network. Everything here is inside namespaces that end with this process.
    pub(crate) fn new(nodes: usize) -> Network {
        run("mount", "-t tmpfs none /run");
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("this namespace is ours");
        run("ip", "link set lo up");
        for place in (1..=nodes).chain([CLIENTS]) {
            let (name, wire, router) = (format!("at{place}"), format!("wire{place}"), format!("10.77.{place}.254"));
            run("ip", &format!("netns add {name}"));
            run("ip", &format!("link add {wire} type veth peer name eth0 netns {name}"));
            run("ip", &format!("address add {router}/24 dev {wire}"));
            run("ip", &format!("link set {wire} up"));
            run("ip", &format!("-n {name} address add {}/24 dev eth0", address(place)));
            run("ip", &format!("-n {name} link set eth0 up"));
            run("ip", &format!("-n {name} link set lo up"));
            run("ip", &format!("-n {name} route add default via {router}"));
        }
        Network { cuts: Vec::new() }
    }

    /// Loses whatever is sent from one place to another, from now on.
    pub(crate) fn cut_one_way(&mut self, from: usize, to: usize) {
        run("ip", &format!("rule add {}", rule(from, to)));
        self.cuts.push((from, to));
    }

    /// Loses whatever is sent between two places, from now on.
    pub(crate) fn cut(&mut self, one: usize, other: usize) {
        self.cut_one_way(one, other);
        self.cut_one_way(other, one);
    }

    /// Loses nothing any more.
    pub(crate) fn heal(&mut self) {
        for (from, to) in self.cuts.drain(..) {
            run("ip", &format!("rule delete {}", rule(from, to)));
        }
    }
}

fn rule(from: usize, to: usize) -> String {
    format!("from {} to {} blackhole", address(from), address(to))
}

fn run(program: &str, arguments: &str) {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.unwrap_or_else(|error| panic!("{program} {arguments}: {error}"));
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
