//! The workbench as the server hands it out. The page itself is public; what it shows needs a
//! token, which it exchanges for a cookie that no script can read.

use std::{
    borrow::Cow,
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

/// The files of the page, by their paths below `/`.
#[derive(Default)]
pub struct Page(HashMap<String, Cow<'static, [u8]>>);

/// The most files of a page, so that a wrong folder is not read as a whole.
const MOST_FILES: usize = 1_000;

/// Why a folder is not a page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A file cannot be read.
    #[error("`{}` cannot be read: {why}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// It has no page.
    #[error(
        "`{}` is not a built workbench: it has no `index.html`; `npm run build` in `web-demo` makes \
         `web-demo/dist`",
        .0.display()
    )]
    NoPage(PathBuf),
    /// It has too many files.
    #[error("`{}` has more than {MOST_FILES} files: name the folder of the built workbench", .0.display())]
    TooMany(PathBuf),
}

/// The mark by which the page knows that a server hands it out.
const MARK: &str = r#"<meta name="wakeful-server" content="/" /></head>"#;

/// What the page may do: it loads and asks this server only, and compiles its own WebAssembly.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
                      style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Page {
    /// The page that is built into this program; none of its files are there without the feature
    /// `embed-workbench`.
    #[must_use]
    pub fn embedded() -> Self {
        Self(embedded::files().collect())
    }

    /// The page in a folder. Its files are read now, so that no request reaches a path.
    ///
    /// # Errors
    /// If the folder cannot be read, or is not a built workbench.
    pub fn read(folder: &Path) -> Result<Self, PageError> {
        let mut files = HashMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            let failed = |why| PageError::Read { path: next.clone(), why };
            for entry in fs::read_dir(&next).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let failed = |why| PageError::Read { path: path.clone(), why };
                if fs::symlink_metadata(&path).map_err(failed)?.is_dir() {
                    folders.push(path);
                    continue;
                }
                let below = path.strip_prefix(folder).unwrap_or(&path);
                let name: Vec<_> =
                    below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
                files.insert(name.join("/"), Cow::Owned(fs::read(&path).map_err(failed)?));
                if files.len() > MOST_FILES {
                    return Err(PageError::TooMany(folder.to_owned()));
                }
            }
        }
        if !files.contains_key("index.html") {
            return Err(PageError::NoPage(folder.to_owned()));
        }
        Ok(Self(files))
    }

    /// Whether there is a page.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.0.contains_key("index.html")
    }

    /// The file at this path of a request; `None` if there is none.
    pub(crate) fn file(&self, path: &str) -> Option<Response> {
        let name = path.strip_prefix('/')?;
        let name = if name.is_empty() { "index.html" } else { name };
        let bytes = self.0.get(name)?;
        let kind = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "json" => "application/json",
            "svg" => "image/svg+xml",
            "wasm" => "application/wasm",
            _ => "application/octet-stream",
        };
        let body = if name == "index.html" {
            String::from_utf8_lossy(bytes).replacen("</head>", MARK, 1).into_bytes()
        } else {
            bytes.to_vec()
        };
        // The names of assets have the hash of their content.
        let kept = if name.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "no-cache"
        };
        let headers = [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, kept),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ];
        Some((StatusCode::OK, headers, body).into_response())
    }
}

/// The cookie of a page's session.
const COOKIE: &str = "wakeful_session";

/// The header that gives a page its session, or takes it away if there is no token.
pub(crate) fn session(token: Option<&str>, is_encrypted: bool) -> Option<HeaderValue> {
    let secure = if is_encrypted { "; Secure" } else { "" };
    let (value, age) = token.map_or(("", 0), |token| (token, 7 * 24 * 3_600));
    let text =
        format!("{COOKIE}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).ok()
}

/// The token in the cookie of a request that our own page made. Browsers say where a request comes
/// from, and scripts cannot change that.
pub(crate) fn token(headers: &axum::http::HeaderMap) -> Option<&str> {
    if headers.get("sec-fetch-site")?.to_str().ok()? != "same-origin" {
        return None;
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|value| value.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE && !value.is_empty()).then_some(value))
}

#[cfg(feature = "embed-workbench")]
mod embedded {
    use std::borrow::Cow;

    /// The built workbench, which the package has beside its sources.
    #[derive(rust_embed::Embed)]
    #[folder = "workbench"]
    struct Built;

    pub(super) fn files() -> impl Iterator<Item = (String, Cow<'static, [u8]>)> {
        Built::iter().filter_map(|name| Some((name.to_string(), Built::get(&name)?.data)))
    }
}

#[cfg(not(feature = "embed-workbench"))]
mod embedded {
    use std::borrow::Cow;

    pub(super) fn files() -> impl Iterator<Item = (String, Cow<'static, [u8]>)> {
        std::iter::empty()
    }
}
