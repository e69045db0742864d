//! A diagram as PNG: the SVG, drawn by `resvg`.
//!
//! Letters are DejaVu Sans, which comes with a crate: so a picture is the same on every machine, and there is one also
//! where no fonts are installed. Pictures are for paper; what follows a dark screen is the SVG.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// The most points that a picture has: about 200 MB while it is drawn.
pub(super) const MOST_POINTS: f64 = 48e6;
/// A picture is twice as fine as the drawing if that is not more than this many points.
const FINE_POINTS: f64 = 24e6;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {width} by {height} points is too large for PNG: show a shorter part, or write .svg or .html")]
pub struct TooLarge {
    /// How wide it would be.
    pub width: u64,
    /// How high it would be.
    pub height: u64,
}

/// Draws this SVG of ours.
pub(super) fn draw(svg: &str, (width, height): (f64, f64)) -> Result<Vec<u8>, TooLarge> {
    let too_large = || TooLarge { width: width as u64, height: height as u64 };
    if width * height > MOST_POINTS {
        return Err(too_large());
    }
    let scale = if 4.0 * width * height <= FINE_POINTS { 2.0_f32 } else { 1.0 };
    let tree = Tree::from_str(svg, &options()).expect("our drawings are SVG");
    let size = tree.size().to_int_size().scale_by(scale).ok_or_else(too_large)?;
    let mut pixmap = Pixmap::new(size.width(), size.height()).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    Ok(pixmap.encode_png().expect("a picture in memory can be written"))
}

fn options() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Options { font_family: "DejaVu Sans".into(), fontdb: Arc::new(fonts), ..Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused_with_what_to_do() {
        let error = draw("", (1e6, 100.0)).unwrap_err().to_string();
        assert!(error.contains("1000000 by 100") && error.contains(".html"), "{error}");
    }
}
