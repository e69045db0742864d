//! Who a data directory belongs to: a small file in it that says which node of which cluster wrote it.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::StartError;
use super::sealed::{self, Damage, Kind};
use super::types::RandomId;
use crate::engine::NodeId;

const FILE: &str = "identity";
const KIND: Kind = *b"quorateI";
const VERSION: u32 = 1;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) node: NodeId,
    /// None until a member of a cluster makes itself known.
    pub(super) cluster: Option<RandomId>,
    /// Drawn when the directory was made: an emptied one has another.
    pub(super) data: RandomId,
}

/// The file, and what it says.
pub(super) struct IdentityFile {
    path: std::path::PathBuf,
    identity: Mutex<Identity>,
}

impl IdentityFile {
    /// Reads the file, or makes one in an empty directory.
    pub(super) fn open(directory: &Path, node: NodeId) -> Result<IdentityFile, StartError> {
        let path = directory.join(FILE);
        let identity = match std::fs::read(&path) {
            Ok(bytes) => read(&path, &bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if directory.join(super::LOG).exists() || directory.join(super::SNAPSHOT).exists() {
                    return Err(StartError::NoIdentity { directory: directory.into() });
                }
                let identity = Identity { node, cluster: None, data: RandomId::draw() };
                write(&path, &identity)?;
                identity
            }
            Err(error) => return Err(error.into()),
        };
        if identity.node != node {
            return Err(StartError::OtherNode { directory: directory.into(), found: identity.node, node });
        }
        Ok(IdentityFile { path, identity: Mutex::new(identity) })
    }

    pub(super) fn get(&self) -> Identity {
        *super::lock(&self.identity)
    }

    /// Joins a cluster, once: returns the cluster that this node belongs to.
    pub(super) fn join(&self, cluster: RandomId) -> io::Result<RandomId> {
        let mut identity = super::lock(&self.identity);
        if let Some(cluster) = identity.cluster {
            return Ok(cluster);
        }
        let joined = Identity { cluster: Some(cluster), ..*identity };
        write(&self.path, &joined)?;
        *identity = joined;
        tracing::info!(node = identity.node, %cluster, "joined cluster");
        Ok(cluster)
    }
}

fn read(path: &Path, bytes: &[u8]) -> Result<Identity, StartError> {
    parse(bytes).map_err(|damage| StartError::DamagedFile { path: path.into(), damage })
}

/// What a file says.
pub(super) fn parse(bytes: &[u8]) -> Result<Identity, Damage> {
    let body = sealed::open(KIND, VERSION, bytes)?;
    postcard::from_bytes(body).map_err(|_| Damage::Contents)
}

/// A file that says this.
pub(super) fn to_bytes(identity: &Identity) -> Vec<u8> {
    let body = postcard::to_allocvec(identity).expect("an identity can be written down");
    sealed::seal(KIND, VERSION, &body)
}

fn write(path: &Path, identity: &Identity) -> io::Result<()> {
    sealed::replace(path, &to_bytes(identity))
}

/// Which node a directory belongs to, if it belongs to any. Nothing is written.
pub(super) fn owner(directory: &Path) -> Result<Option<NodeId>, StartError> {
    let path = directory.join(FILE);
    match std::fs::read(&path) {
        Ok(bytes) => read(&path, &bytes).map(|identity| Some(identity.node)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a node has kept something in this directory.
pub fn has_data(directory: &Path) -> bool {
    directory.join(FILE).exists()
}

/// Makes the identity of a directory that is filled from a backup.
pub(super) fn create(directory: &Path, node: NodeId) -> io::Result<Identity> {
    let identity = Identity { node, cluster: Some(RandomId::draw()), data: RandomId::draw() };
    write(&directory.join(FILE), &identity)?;
    Ok(identity)
}
