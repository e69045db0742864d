//! `quorate completions` and `quorate man`: from the same definitions as the help texts.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments;
use quorate_lab::command::failure::Failure;
use quorate_lab::command::output::Terminal;

pub(crate) fn completions(shell: clap_complete::Shell, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), "quorate", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(directory: Option<&Path>, terminal: &mut Terminal) -> Result<ExitCode, Failure> {
    match directory {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(arguments::command()).render(&mut page)?;
            terminal.print(&String::from_utf8_lossy(&page))?;
        }
        Some(directory) => {
            let written: io::Result<()> = std::fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(arguments::command(), directory));
            written.map_err(|error| Failure::File { path: directory.display().to_string(), error })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
