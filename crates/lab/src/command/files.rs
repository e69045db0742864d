//! Files that commands write: diagrams and traces in the format of their file name, figures, and pages.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::output::Terminal;
use crate::diagram::{Format, Part, Picture, RenderError, Unit, View};
use crate::plot::Figure;
use crate::time::delta_text;

/// The accepted file names of diagrams.
const DRAWN: &str = ".svg, .html or .txt, or - for text on standard output";

/// What to write, and where.
#[derive(Debug)]
pub struct Files<'a> {
    files: Vec<(&'a Path, Format)>,
    view: View,
}

impl<'a> Files<'a> {
    /// A file for a diagram and one for a trace, whose names give the formats; nothing is written yet.
    pub fn new(
        diagram: Option<&'a PathBuf>,
        trace: Option<&'a PathBuf>,
        view: View,
        terminal: &Terminal,
    ) -> Result<Files<'a>, Failure> {
        let mut files = Vec::new();
        for (path, is_diagram) in [(diagram, true), (trace, false)] {
            let Some(path) = path else { continue };
            let format = if is_diagram { form_of_diagram("--diagram", path, terminal)? } else { form_of_trace(path)? };
            files.push((path.as_path(), format));
        }
        if diagram.is_none() && (View { unit: Unit::default(), ..view.clone() }) != View::default() {
            let why = "--down, --clocks, --fold, --from, --to and --records change a diagram";
            return Err(Failure::Usage(format!("{why}: add --diagram FILE ({DRAWN})")));
        }
        if let Part::Times { from: Some(from), to: Some(to) } = view.part
            && from > to
        {
            let [from, to] = [from, to].map(delta_text);
            return Err(Failure::Usage(format!("--from {from} is later than --to {to}: exchange them")));
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

/// The format of a diagram, from its file name. The name - means text on standard output.
pub fn form_of_diagram(option: &str, path: &Path, terminal: &Terminal) -> Result<Format, Failure> {
    if is_standard_output(path) {
        check_standard_output(option, path, terminal)?;
        return Ok(Format::Text);
    }
    let format = Format::of(path)?;
    match format.is_diagram() {
        true => Ok(format),
        false => Err(Failure::Usage(format!("{option} {}: a diagram is a {DRAWN}", path.display()))),
    }
}

/// The format of a trace, from its file name.
pub(crate) fn form_of_trace(path: &Path) -> Result<Format, Failure> {
    let format = if is_standard_output(path) { None } else { Some(Format::of(path)?) };
    format.filter(|format| !format.is_diagram()).ok_or_else(|| {
        let shown = path.display();
        Failure::Usage(format!("--trace {shown}: a trace is a .jsonl or a .shiviz file; --diagram draws"))
    })
}

/// Whether a file name means standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses to write both JSON and a file to standard output.
pub(crate) fn check_standard_output(option: &str, path: &Path, terminal: &Terminal) -> Result<(), Failure> {
    match is_standard_output(path) && terminal.is_json() {
        true => Err(Failure::Usage(format!("{option} -: --json prints to standard output, too; name a file instead"))),
        false => Ok(()),
    }
}

/// A command line to type in a shell: the program without its directory, and quoted words.
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

/// A directory for figures. It is created before anything is measured, so that a wrong name costs no time.
#[derive(Debug)]
pub struct Folder<'a>(&'a Path);

impl<'a> Folder<'a> {
    /// The directory of this name, which is created if it does not exist.
    pub fn new(path: &'a Path) -> Result<Folder<'a>, Failure> {
        if path.exists() && !path.is_dir() {
            let path = path.display();
            return Err(Failure::Usage(format!("--plot {path}: this is a file; name a directory for the figures")));
        }
        let is_picture = path.extension().is_some_and(|end| ["svg", "html"].iter().any(|one| end == *one));
        if is_picture && !path.exists() {
            let (path, stem) = (path.display(), path.with_extension(""));
            let why = "the figures are several files; name a directory";
            return Err(Failure::Usage(format!("--plot {path}: {why}, for example --plot {}", stem.display())));
        }
        std::fs::create_dir_all(path).map_err(|error| Failure::File { path: path.display().to_string(), error })?;
        Ok(Folder(path))
    }

    /// Writes one file for each figure. Returns a sentence that names them.
    pub fn write(&self, figures: &[Figure]) -> Result<String, Failure> {
        for figure in figures {
            write(&self.0.join(format!("{}.svg", figure.name)), figure.svg())?;
        }
        let names: Vec<_> = figures.iter().map(|figure| format!("{}.svg", figure.name)).collect();
        Ok(format!("wrote {} to {}", names.join(", "), self.0.display()))
    }
}

/// Refuses a place where the page of this option cannot be written, before anything is measured.
pub fn check_page(option: &str, path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if is_standard_output(path) {
        return Err(Failure::Usage(format!("{option} -: the page is not written to standard output; name a file")));
    }
    if path.is_dir() {
        return Err(Failure::Usage(format!("{option} {shown}: this is a directory; name a file")));
    }
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        Some(folder) => {
            Err(Failure::Usage(format!("{option} {shown}: the directory {} does not exist", folder.display())))
        }
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
