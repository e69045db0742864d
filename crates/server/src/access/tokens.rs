//! The file of tokens: who may do what, and what is known of their tokens. The tokens themselves are not in it.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use subtle::ConstantTimeEq;
use thiserror::Error;

/// So many tokens there may be: each request is compared with all of them.
const MOST_TOKENS: usize = 1000;
/// The file is at most so long, in bytes.
const LONGEST_FILE: u64 = 1 << 20;
/// What a token begins with, so that it is recognised where it should not be.
const MARK: &str = "quorate_";

/// What somebody may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Look at everything.
    Read,
    /// Open sessions, and ask for what has a name with one of these prefixes.
    Lock {
        /// The prefixes.
        prefixes: Vec<String>,
    },
    /// Everything.
    Admin,
}

/// SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest([u8; 32]);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

/// What is known of a token.
pub(crate) fn digest(token: &[u8]) -> Digest {
    let digest = ring::digest::digest(&ring::digest::SHA256, token);
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    Digest(bytes)
}

/// A token, but for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Whose it is. Several tokens may be the same one's.
    pub name: Arc<str>,
    /// What it is for.
    pub role: Role,
    pub(crate) digest: Digest,
}

/// Why a file of tokens cannot be used.
#[derive(Debug, Error)]
pub enum TokensError {
    /// It cannot be read or written.
    #[error(
        "cannot read or write the token file {}: {error}; `quorate keys token --file FILE` creates one",
        file.display()
    )]
    File {
        /// Which file.
        file: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// It is not written as it should be.
    #[error("invalid token file {}: {why}", file.display())]
    Content {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    token: Vec<WrittenToken>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenToken {
    name: String,
    role: WrittenRole,
    prefixes: Option<Vec<String>>,
    sha256: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenRole {
    Read,
    Lock,
    Admin,
}

impl WrittenToken {
    fn understood(self) -> Result<Token, String> {
        let WrittenToken { name, role, prefixes, sha256 } = self;
        if name.is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
            return Err(format!("invalid token name {name:?}: it must have 1 to 256 bytes and no control characters"));
        }
        let role = match (role, prefixes) {
            (WrittenRole::Lock, Some(prefixes)) if !prefixes.is_empty() => Role::Lock { prefixes },
            (WrittenRole::Lock, _) => {
                return Err(format!(
                    "the token of {name:?} needs `prefixes`, as its role is lock; [\"\"] permits every name"
                ));
            }
            (WrittenRole::Read | WrittenRole::Admin, Some(_)) => {
                return Err(format!(
                    "the token of {name:?} has `prefixes`, which are only for the role lock: remove them"
                ));
            }
            (WrittenRole::Read, None) => Role::Read,
            (WrittenRole::Admin, None) => Role::Admin,
        };
        let digest = from_hex(&sha256).ok_or_else(|| {
            format!("the sha256 of {name:?} must be 64 hexadecimal digits, as `quorate keys token` writes it")
        })?;
        Ok(Token { name: name.into(), role, digest })
    }
}

fn from_hex(text: &str) -> Option<Digest> {
    let (mut bytes, text) = ([0; 32], text.as_bytes());
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks(2)) {
        let digit = |digit: u8| (digit as char).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(Digest(bytes))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table(Vec<Arc<Token>>);

impl Table {
    pub(super) fn read(file: &Path) -> Result<Table, TokensError> {
        let fail = |error| TokensError::File { file: file.into(), error };
        if std::fs::metadata(file).map_err(fail)?.len() > LONGEST_FILE {
            return Err(TokensError::Content { file: file.into(), why: "it is longer than 1 MiB".into() });
        }
        let text = std::fs::read_to_string(file).map_err(fail)?;
        Table::parse(&text).map_err(|why| TokensError::Content { file: file.into(), why })
    }

    fn parse(text: &str) -> Result<Table, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        if written.token.len() > MOST_TOKENS {
            return Err(format!("too many tokens: at most {MOST_TOKENS} are accepted"));
        }
        let tokens = written.token.into_iter().map(WrittenToken::understood).collect::<Result<Vec<_>, _>>()?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = tokens.iter().find(|token| !seen.insert(token.digest.0)) {
            return Err(format!("the token of {:?} appears twice: remove one entry", twice.name));
        }
        Ok(Table::of(tokens))
    }

    pub(super) fn of(tokens: Vec<Token>) -> Table {
        Table(tokens.into_iter().map(Arc::new).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The token with this digest. All are compared in full, so that the time tells nothing.
    pub(super) fn find(&self, digest: &Digest) -> Option<Arc<Token>> {
        let mut found = None;
        for token in &self.0 {
            if bool::from(token.digest.0.ct_eq(&digest.0)) {
                found = Some(Arc::clone(token));
            }
        }
        found
    }
}

/// Draws a token that nobody can guess.
pub fn draw_token() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(format!("{MARK}{}", to_hex(&bytes)))
}

/// Adds a token to the file, of which there need not be one yet. The file has what is known of it, not the token.
pub fn append(file: &Path, name: &str, role: &Role, token: &str) -> Result<(), TokensError> {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let (role, prefixes) = match role {
        Role::Read => ("read", String::new()),
        Role::Lock { prefixes } => {
            let prefixes: Vec<_> = prefixes.iter().map(|prefix| quoted(prefix)).collect();
            ("lock", format!("prefixes = [{}]\n", prefixes.join(", ")))
        }
        Role::Admin => ("admin", String::new()),
    };
    let sha256 = to_hex(&digest(token.as_bytes()).0);
    let (name, added) = (quoted(name), "[[token]]\n");
    let added = format!("{added}name = {name}\nrole = \"{role}\"\n{prefixes}sha256 = \"{sha256}\"\n");
    let fail = |error| TokensError::File { file: file.into(), error };
    let before = match std::fs::read_to_string(file) {
        Ok(before) => before,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail(error)),
    };
    let gap = if before.is_empty() {
        ""
    } else if before.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    // What would not be understood is not written.
    Table::parse(&format!("{before}{gap}{added}")).map_err(|why| TokensError::Content { file: file.into(), why })?;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    // One write, so that a node that reads meanwhile sees all of it or nothing.
    options.open(file).and_then(|mut file| file.write_all(format!("{gap}{added}").as_bytes())).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        Table::parse(text).unwrap_err()
    }

    #[test]
    fn what_is_appended_is_read_and_the_token_is_not_in_the_file() {
        let file = std::env::temp_dir().join(format!("quorate-tokens-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let token = draw_token().unwrap();
        let role = Role::Lock { prefixes: vec!["web/".into(), "quote\"\\".into()] };
        append(&file, "web", &role, &token).unwrap();
        append(&file, "oncall", &Role::Admin, "other").unwrap();
        assert!(append(&file, "twice", &Role::Admin, "other").is_err());
        let (table, text) = (Table::read(&file).unwrap(), std::fs::read_to_string(&file).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(table.len(), 2);
        assert_eq!(table.find(&digest(token.as_bytes())).unwrap().role, role);
        assert!(table.find(&digest(b"unknown")).is_none());
        assert!(!text.contains(&token));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let sha = format!("sha256 = \"{}\"", "0".repeat(64));
        let token = |rest: &str| format!("[[token]]\nname = \"x\"\n{rest}\n");
        assert!(Table::parse("").is_ok());
        assert!(why(&token(&format!("role = \"lock\"\n{sha}"))).contains("prefixes"));
        assert!(why(&token(&format!("role = \"read\"\nprefixes = [\"a\"]\n{sha}"))).contains("prefixes"));
        assert!(why(&token("role = \"read\"\nsha256 = \"12\"")).contains("64"));
        let unknown = why(&token(&format!("rule = \"read\"\n{sha}")));
        assert!(unknown.contains("rule") && unknown.contains("line 3"), "{unknown}");
        let boss = why(&token(&format!("role = \"boss\"\n{sha}")));
        assert!(boss.contains("boss") && boss.contains("`admin`"), "{boss}");
    }
}
