//! The files that are written: diagrams and traces, in the form that their names ask for; figures; pages.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::output::Terminal;
use crate::diagram::{Format, Part, Picture, RenderError, Unit, View};
use crate::plot::Figure;
use crate::time::delta_text;

/// What a diagram can be written as.
const DRAWN: &str = ".svg, .html or .txt, or - for text here";

/// What to write, and where.
#[derive(Debug)]
pub struct Files<'a> {
    files: Vec<(&'a Path, Format)>,
    view: View,
}

impl<'a> Files<'a> {
    /// A file for a diagram and one for a trace, whose names say in which form; nothing is written yet.
    pub fn new(
        diagram: Option<&'a PathBuf>,
        trace: Option<&'a PathBuf>,
        view: View,
        terminal: &Terminal,
    ) -> Result<Files<'a>, Failure> {
        let mut files = Vec::new();
        for (path, is_diagram) in [(diagram, true), (trace, false)] {
            let Some(path) = path else { continue };
            let format = if is_diagram { form_of_diagram("--diagram", path, terminal)? } else { Format::of(path)? };
            if format.is_diagram() && !is_diagram {
                return Err(Failure::Usage(format!("--trace {}: it writes .jsonl or .shiviz", path.display())));
            }
            files.push((path.as_path(), format));
        }
        if diagram.is_none() && (View { unit: Unit::default(), ..view.clone() }) != View::default() {
            let why = "--down, --clocks, --fold, --from, --to and --records say how to draw";
            return Err(Failure::Usage(format!("{why}: name a file with --diagram ({DRAWN})")));
        }
        if let Part::Times { from: Some(from), to: Some(to) } = view.part
            && from > to
        {
            let [from, to] = [from, to].map(delta_text);
            return Err(Failure::Usage(format!("--from {from} comes after --to {to}: nothing is between them")));
        }
        Ok(Files { files, view: View { command: Some(command_line(std::env::args_os())), ..view } })
    }

    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes them.
    pub fn write(&self, picture: &Picture<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
        for (path, format) in &self.files {
            if is_standard_output(path) {
                terminal.print("\n")?;
            }
            draw(path, picture, *format, &self.view, terminal)?;
        }
        Ok(())
    }
}

/// In which form a diagram is written to a file, or to standard output if that is what its name says.
pub fn form_of_diagram(option: &str, path: &Path, terminal: &Terminal) -> Result<Format, Failure> {
    if is_standard_output(path) {
        return match terminal.is_json() {
            true => Err(Failure::Usage(format!("{option} -: with --json, name a file"))),
            false => Ok(Format::Text),
        };
    }
    let format = Format::of(path)?;
    match format.is_diagram() {
        true => Ok(format),
        false => Err(Failure::Usage(format!("{option} {}: it draws {DRAWN}", path.display()))),
    }
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// A command as one would type it: the program without its folder, and words that a shell takes as they are.
pub fn command_line(words: impl IntoIterator<Item = OsString>) -> String {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_stem().unwrap_or(OsStr::new("quorate")).to_os_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@+%".contains(letter);
    let quoted = [program].into_iter().chain(words).map(|word| {
        let word = word.to_string_lossy().into_owned();
        if !word.is_empty() && word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// A folder for figures. Made before anything is measured, so that a wrong name costs no time.
#[derive(Debug)]
pub struct Folder<'a>(&'a Path);

impl<'a> Folder<'a> {
    /// The folder of this name, which is made if it is not there.
    pub fn new(path: &'a Path) -> Result<Folder<'a>, Failure> {
        if path.exists() && !path.is_dir() {
            let path = path.display();
            return Err(Failure::Usage(format!("--plot {path}: this is a file; name a folder for the figures")));
        }
        let is_picture = path.extension().is_some_and(|end| ["svg", "png", "html"].iter().any(|one| end == *one));
        if is_picture && !path.exists() {
            let (path, stem) = (path.display(), path.with_extension(""));
            let why = "figures are several files, so name a folder for them";
            return Err(Failure::Usage(format!("--plot {path}: {why}, as in --plot {}", stem.display())));
        }
        std::fs::create_dir_all(path).map_err(|error| Failure::File { path: path.display().to_string(), error })?;
        Ok(Folder(path))
    }

    /// Writes figures into it, one file each, and says which.
    pub fn write(&self, figures: &[Figure]) -> Result<String, Failure> {
        for figure in figures {
            write(&self.0.join(format!("{}.svg", figure.name)), figure.svg())?;
        }
        let names: Vec<_> = figures.iter().map(|figure| format!("{}.svg", figure.name)).collect();
        Ok(format!("{} has {}", self.0.display(), names.join(", ")))
    }
}

/// Refuses a place where no page can be written, before anything is measured.
pub fn check_page(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if path.is_dir() {
        return Err(Failure::Usage(format!("--html {shown}: this is a folder; name a file in it")));
    }
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        Some(folder) => Err(Failure::Usage(format!("--html {shown}: there is no folder {}", folder.display()))),
        None => Ok(()),
    }
}

/// Writes a picture into a file, or to standard output if that is what its name says.
pub fn draw(
    path: &Path,
    picture: &Picture<'_>,
    format: Format,
    view: &View,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let content = picture.render(format, view).map_err(|error| match error {
        RenderError::Empty { .. } => Failure::Usage(error.to_string()),
    })?;
    if is_standard_output(path) {
        return Ok(terminal.print(&String::from_utf8_lossy(&content))?);
    }
    write(path, &content)
}

/// Writes a file.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    std::fs::write(path, content).map_err(|error| Failure::File { path: path.display().to_string(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_said_as_it_is_typed() {
        let said = |words: &[&str]| command_line(words.iter().map(OsString::from));
        let words = ["/usr/bin/quorate", "sim", "lamport", "-n", "4", "--diagram", "my run.html"];
        assert_eq!(said(&words), "quorate sim lamport -n 4 --diagram 'my run.html'");
        assert_eq!(said(&["a", "it's", ""]), "a 'it'\\''s' ''");
    }
}
