//! Compiles the descriptions of the wire format in `proto/`. No program has to be installed for it.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let files = ["auth.proto", "lease.proto", "lock.proto", "election.proto"];
    let descriptions = protox::compile(files, ["proto"])?;
    tonic_prost_build::configure().build_client(false).build_transport(false).compile_fds(descriptions)?;
    Ok(())
}
