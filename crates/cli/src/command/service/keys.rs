//! `quorate keys`: certificates for nodes, and tokens for clients.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand, ValueEnum};
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;
use quorate_net::member_name;
use quorate_server::access::{Role, append, draw_token};
use quorate_server::node::{MEMBER_NAME, TlsFiles, check_tls};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

/// Years for which a certificate is valid; the CA certificate is valid for twice as long.
const YEARS: i32 = 10;
/// The name of the CA. All CAs have the same name; their keys differ.
const AUTHORITY: &str = "Quorate cluster authority";

const NOTES: &str = "\
Examples:
  Create a CA, and certificates and keys for three nodes:
    quorate keys nodes node1=10.0.0.1 node2=10.0.0.2 node3=10.0.0.3
  Create a token for locks and elections whose names begin with `web/`:
    quorate keys token web --role lock --prefix web/";

const NODES_NOTES: &str = "\
Examples:
  Create a CA, and a certificate and a key for each of three nodes, in ./keys:
    quorate keys nodes node1=10.0.0.1 node2=10.0.0.2 node3=10.0.0.3,db3.example.org
  Create a certificate for one more node with the same CA:
    quorate keys nodes node4=10.0.0.4";

const TOKEN_NOTES: &str = "\
Examples:
  Create a token for locks and elections whose names begin with `web/`:
    quorate keys token web --role lock --prefix web/
  Create a token that allows everything, in the token file of a node:
    quorate keys token oncall --role admin --file /etc/quorate/tokens.toml";

/// Create certificates for nodes and tokens for clients
#[derive(Args, Debug)]
#[command(after_long_help = NOTES)]
pub(crate) struct Keys {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Create a certificate and a key for each node, and a CA if there is none
    ///
    /// Existing files are not changed. To add a node later, run the command again with the directory that has ca.key.
    /// Copy ca.crt and the two files of a node to that node, and ca.crt to the clients. Keep ca.key private.
    #[command(after_long_help = NODES_NOTES)]
    Nodes(Nodes),
    /// Create a token, print it once, and add its hash to the token file of a node
    #[command(after_long_help = TOKEN_NOTES)]
    Token(Token),
}

#[derive(Args, Debug)]
struct Nodes {
    /// A node: the name of its files, and the addresses or host names by which clients reach it. For the peer engine,
    /// the name must end with the id of the node, as in node1
    #[arg(value_name = "NAME=HOST,…", required = true, value_parser = node)]
    nodes: Vec<NewNode>,

    /// Directory for the files
    #[arg(long, value_name = "DIRECTORY", default_value = "keys")]
    out: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NewNode {
    name: String,
    hosts: Vec<String>,
}

fn node(text: &str) -> Result<NewNode, String> {
    let explain =
        || "write a name and the hosts of the node, without ports, as in node1=10.0.0.1,node1.example.org".into();
    let (name, hosts) = text.split_once('=').ok_or_else(explain)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name == "ca" || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(explain());
    }
    let hosts: Vec<_> = hosts.split(',').map(String::from).collect();
    // An address with a port is a likely mistake.
    let is_host = |host: &String| host.parse::<IpAddr>().is_ok() || (!host.is_empty() && host.chars().all(is_plain));
    if hosts.iter().all(is_host) { Ok(NewNode { name: name.into(), hosts }) } else { Err(explain()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleName {
    /// Read everything
    Read,
    /// Read everything; open sessions, hold locks and lead elections whose names begin with --prefix
    Lock,
    /// Everything, including release by force, members and backups
    Admin,
}

#[derive(Args, Debug)]
struct Token {
    /// Name of the client. Tokens with the same name can use each other's sessions
    name: String,

    /// What the token allows
    #[arg(long, value_enum)]
    role: RoleName,

    /// Allow locks and elections whose names begin with PREFIX; '' allows every name. Repeat it for each prefix
    #[arg(long, value_name = "PREFIX", required_if_eq("role", "lock"))]
    prefix: Vec<String>,

    /// Token file of the node; created if it does not exist
    #[arg(long, value_name = "FILE", default_value = "tokens.toml")]
    file: PathBuf,
}

pub(crate) fn run(arguments: &Keys, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match &arguments.what {
        What::Nodes(arguments) => nodes(arguments, terminal),
        What::Token(arguments) => token(arguments, terminal),
    }
}

fn token(arguments: &Token, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Token { name, role, prefix, file } = arguments;
    let role = match role {
        RoleName::Lock => Role::Lock { prefixes: prefix.clone() },
        _ if !prefix.is_empty() => {
            return Err(Failure::Usage("--prefix needs --role lock: the other roles apply to every name".into()));
        }
        RoleName::Read => Role::Read,
        RoleName::Admin => Role::Admin,
    };
    let token = draw_token()?;
    append(file, name, &role, &token).map_err(|error| Failure::Failed(error.to_string()))?;
    if terminal.is_json() {
        terminal.print_json(&serde_json::json!({ "name": name, "token": token, "file": file }))?;
    } else {
        terminal.print(&format!("{token}\n"))?;
        terminal.remark(&format!(
            "the token was added to {}. The file has only its hash: store the token now, it is not shown again",
            file.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn nodes(arguments: &Nodes, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let Nodes { nodes, out } = arguments;
    std::fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
    let mut made = Vec::new();
    let authority = Files::of(out, "ca");
    let issuer = match authority.are_there()? {
        true => None,
        false => {
            let key = KeyPair::generate().map_err(|error| failed(out, &error))?;
            let certificate = authority_params().self_signed(&key).map_err(|error| failed(out, &error))?;
            authority.write(&certificate.pem(), &key)?;
            made.push("ca".to_string());
            Some(Issuer::new(authority_params(), key))
        }
    };
    let issuer = match issuer {
        Some(issuer) => issuer,
        None => Issuer::new(authority_params(), authority.read_key()?),
    };
    for NewNode { name, hosts } in nodes {
        let files = Files::of(out, name);
        if files.are_there()? {
            terminal.warn(&format!("{} exists and is not changed", files.certificate.display()));
            continue;
        }
        let key = KeyPair::generate().map_err(|error| failed(&files.key, &error))?;
        let certificate = node_params(name, hosts)
            .and_then(|params| params.signed_by(&key, &issuer))
            .map_err(|error| failed(&files.certificate, &error))?;
        files.write(&certificate.pem(), &key)?;
        made.push(name.clone());
        let tls = TlsFiles { ca: authority.certificate.clone(), cert: files.certificate, key: files.key };
        check_tls(&tls).map_err(|error| Failure::Failed(error.to_string()))?;
    }
    if terminal.is_json() {
        terminal.print_json(&serde_json::json!({ "directory": out, "made": made }))?;
    } else {
        let lines = made.iter().map(|name| {
            let Files { certificate, key } = Files::of(out, name);
            format!("created  {}  {}\n", certificate.display(), key.display())
        });
        terminal.print(&lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A certificate and its key.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn of(directory: &Path, name: &str) -> Files {
        Files { certificate: directory.join(format!("{name}.crt")), key: directory.join(format!("{name}.key")) }
    }

    /// Whether they are there, both of them.
    fn are_there(&self) -> Result<bool, Failure> {
        match (self.certificate.exists(), self.key.exists()) {
            (true, true) => Ok(true),
            (false, false) => Ok(false),
            (true, false) => Err(Failure::Failed(format!(
                "{} exists without its key {}, and nothing was created: run the command where the key is, \
                 with --out and the directory that has both files",
                self.certificate.display(),
                self.key.display()
            ))),
            (false, true) => Err(Failure::Failed(format!(
                "{} exists without its certificate, and nothing was created: delete it if nothing uses it",
                self.key.display()
            ))),
        }
    }

    fn write(&self, certificate: &str, key: &KeyPair) -> Result<(), Failure> {
        create(&self.key, 0o600, &key.serialize_pem())?;
        create(&self.certificate, 0o644, certificate)
    }

    fn read_key(&self) -> Result<KeyPair, Failure> {
        let text = std::fs::read_to_string(&self.key).map_err(|error| failed(&self.key, &error))?;
        KeyPair::from_pem(&text).map_err(|error| failed(&self.key, &error))
    }
}

/// Writes a file that does not exist.
fn create(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| failed(path, &error))
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {why}", path.display()))
}

fn this_year() -> i32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    1970 + (since.as_secs() / 31_556_952) as i32
}

/// The common part of all certificates. They are valid from last year on, so that clocks may differ.
fn params(name: &str, years: i32) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(this_year() - 1, 1, 1);
    params.not_after = date_time_ymd(this_year() + years, 12, 31);
    params
}

fn authority_params() -> CertificateParams {
    let mut params = params(AUTHORITY, 2 * YEARS);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// The number of a node whose name ends with one, as node1 does.
fn number_of(name: &str) -> Option<u32> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok().filter(|number| *number > 0)
}

/// A node's certificate: clients verify its hosts, members of a cluster their common name, and members of the peer
/// engine the id of the node.
fn node_params(name: &str, hosts: &[String]) -> Result<CertificateParams, rcgen::Error> {
    let local = ["localhost", "127.0.0.1", "::1", MEMBER_NAME].map(String::from);
    let numbered = number_of(name).map(member_name);
    let mut names: Vec<String> = hosts.iter().cloned().chain(local).chain(numbered).collect();
    names.sort();
    names.dedup();
    let mut params = params(name, YEARS);
    params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_ends_with_a_number_is_that_of_the_member() {
        let numbers = ["node1", "7", "db-12", "node", "0", "node2x", "99999999999"].map(number_of);
        assert_eq!(numbers, [Some(1), Some(7), Some(12), None, None, None, None]);
    }

    #[test]
    fn a_node_has_a_plain_name_and_hosts_without_ports() {
        let hosts = vec!["10.0.0.1".into(), "::1".into(), "node1.example.org".into()];
        let read = node("node1=10.0.0.1,::1,node1.example.org");
        assert_eq!(read, Ok(NewNode { name: "node1".into(), hosts }));
        for text in ["node1", "node1=", "=10.0.0.1", "../x=10.0.0.1", "ca=10.0.0.1", "node1=10.0.0.1:7420", ".=a"] {
            assert!(node(text).is_err(), "{text}");
        }
    }
}
