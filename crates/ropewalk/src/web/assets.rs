//! The page's files, within the program: nothing is read from disk or network.

/// A file.
#[derive(Debug)]
pub(super) struct Asset {
    /// Where it is.
    pub path: &'static str,
    /// Its media type.
    pub kind: &'static str,
    /// What is in it.
    pub text: &'static str,
}

macro_rules! assets {
    ($($path:literal $kind:ident $file:literal;)*) => {
        &[$(Asset { path: $path, kind: $kind, text: include_str!(concat!("../../web/", $file)) }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// All of them.
pub(super) const ASSETS: &[Asset] = assets! {
    "/" HTML "index.html";
    "/style.css" STYLE "style.css";
    "/main.js" SCRIPT "main.js";
    "/api.js" SCRIPT "api.js";
    "/bunch.js" SCRIPT "bunch.js";
    "/charts.js" SCRIPT "charts.js";
    "/dialogs.js" SCRIPT "dialogs.js";
    "/dom.js" SCRIPT "dom.js";
    "/format.js" SCRIPT "format.js";
    "/icon.svg" PICTURE "icon.svg";
    "/uplot.js" SCRIPT "vendor/uPlot.iife.min.js";
    "/uplot.css" STYLE "vendor/uPlot.min.css";
    "/uplot.txt" TEXT "vendor/LICENSE";
};

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser loads, bytes.
    const MOST: usize = 150_000;

    #[test]
    fn the_page_is_light() {
        let all: usize = ASSETS.iter().map(|a| a.text.len()).sum();
        assert!(all < MOST, "{all} bytes");
        println!("{all} bytes");
    }

    #[test]
    fn nothing_is_asked_of_others_and_nothing_is_inline() {
        for asset in ASSETS.iter().filter(|a| !a.path.starts_with("/uplot")) {
            let links = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!links.contains("http://") && !links.contains("https://"), "{}", asset.path);
            for word in [" style=\"", "<style", "onclick=", "innerHTML", "eval("] {
                assert!(!asset.text.contains(word), "{} has {word}", asset.path);
            }
        }
        let page = ASSETS[0].text;
        for tag in page.split("<script").skip(1) {
            assert!(tag.contains("src=\"/") && tag.contains("></script>"), "{tag}");
        }
        for (_, rest) in page
            .match_indices("src=\"/")
            .chain(page.match_indices("href=\"/"))
            .map(|(at, m)| (at, &page[at + m.len() - 1..]))
        {
            let path = &rest[..rest.find('"').unwrap()];
            assert!(ASSETS.iter().any(|a| a.path == path), "{path} is not served");
        }
    }
}
