//! The files that are written: diagrams and traces, in the form that their names ask for; figures; pages.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::diagram::{Format, Picture, View};
use crate::plot::Figure;

/// What a diagram can be written as.
const DRAWN: &str = ".svg, .png, .html or .txt";

/// What to write, and where.
#[derive(Debug)]
pub struct Files<'a> {
    files: Vec<(&'a Path, Format)>,
    view: View,
}

impl<'a> Files<'a> {
    /// A file for a diagram and one for a trace, whose names say in which form; nothing is written yet.
    pub fn new(diagram: Option<&'a PathBuf>, trace: Option<&'a PathBuf>, view: View) -> Result<Files<'a>, Failure> {
        let mut files = Vec::new();
        for (path, is_diagram) in [(diagram, true), (trace, false)] {
            let Some(path) = path else { continue };
            let format = Format::of(path)?;
            if format.is_diagram() != is_diagram {
                let (option, endings) =
                    if is_diagram { ("--diagram", DRAWN) } else { ("--trace", ".jsonl or .shiviz") };
                return Err(Failure::Usage(format!("{option} {}: it writes {endings}", path.display())));
            }
            files.push((path.as_path(), format));
        }
        if diagram.is_none() && view != View::default() {
            let why = "--down, --clocks, --fold, --from, --to and --records say how to draw";
            return Err(Failure::Usage(format!("{why}: name a file with --diagram ({DRAWN})")));
        }
        if view.clocks.is_some() && files.iter().any(|(_, format)| *format == Format::Text) {
            return Err(Failure::Usage("--clocks is for .svg, .png and .html: there is no room in .txt".into()));
        }
        Ok(Files { files, view })
    }

    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes them.
    pub fn write(&self, picture: &Picture<'_>) -> Result<(), Failure> {
        self.files.iter().try_for_each(|(path, format)| draw(path, picture, *format, &self.view))
    }
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

/// Writes a picture into a file.
pub fn draw(path: &Path, picture: &Picture<'_>, format: Format, view: &View) -> Result<(), Failure> {
    let content = picture.render(format, view);
    let content = content.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    write(path, &content)
}

/// Writes a file.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    std::fs::write(path, content).map_err(|error| Failure::File { path: path.display().to_string(), error })
}
