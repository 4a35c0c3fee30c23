//! The browser for the tests and its driver: given, found or installed.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    call::{Call, Failure},
    debian,
    paths::{self, Paths},
};

/// A browser and the driver that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Browser {
    pub(crate) chrome: PathBuf,
    pub(crate) driver: PathBuf,
}

const CHROME_NAMES: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const DRIVER_NAMES: [&str; 1] = ["chromedriver"];
const HOW: &str = "install Chromium and its driver (Debian: apt-get install chromium \
                   chromium-driver), or set CHROME and CHROMEDRIVER to their paths";

/// The options with which Chromium runs headless, also as root, and does not call its maker.
const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// Takes CHROME and CHROMEDRIVER if they are set, else what is on PATH. If there is none, root
/// installs the package of the distribution.
pub(crate) fn find(paths: &Paths) -> Result<Browser, Failure> {
    let browser = match look()? {
        Some(browser) => browser,
        None => {
            debian::install(
                paths,
                "browser",
                &["chromium", "chromium-driver"],
                &format!("no browser and driver on PATH; {HOW}"),
            )?;
            look()?.ok_or_else(|| {
                Failure::new(format!("apt-get installed no browser that is on PATH; {HOW}"))
            })?
        }
    };
    let version = |program: &Path| Call::new(paths, "browser", program).arg("--version").answer();
    same_version(&version(&browser.chrome)?, &version(&browser.driver)?)?;
    Ok(browser)
}

/// Writes the settings that wasm-bindgen's test runner passes to the driver. Returns the file.
pub(crate) fn write_driver_settings(paths: &Paths, browser: &Browser) -> Result<PathBuf, Failure> {
    let file = paths.guest().join("webdriver.json");
    let settings =
        serde_json::json!({ "goog:chromeOptions": { "args": FLAGS, "binary": browser.chrome } });
    fs::create_dir_all(paths.guest())
        .and_then(|()| fs::write(&file, format!("{settings:#}\n")))
        .map_err(|why| Failure::new(format!("cannot write {}: {why}", file.display())))?;
    Ok(file)
}

fn look() -> Result<Option<Browser>, Failure> {
    let chrome = given_or_found("CHROME", env::var_os("CHROME").map(PathBuf::from), &CHROME_NAMES)?;
    let driver = given_or_found(
        "CHROMEDRIVER",
        env::var_os("CHROMEDRIVER").map(PathBuf::from),
        &DRIVER_NAMES,
    )?;
    Ok(chrome.zip(driver).map(|(chrome, driver)| Browser { chrome, driver }))
}

fn given_or_found(
    variable: &str,
    given: Option<PathBuf>,
    names: &[&str],
) -> Result<Option<PathBuf>, Failure> {
    match given.filter(|path| !path.as_os_str().is_empty()) {
        Some(path) if path.is_file() => Ok(Some(path)),
        // A wrong path is a mistake. Another browser would hide it.
        Some(path) => Err(Failure::new(format!(
            "{variable} is `{}`, and no such file is there; correct or unset it",
            path.display()
        ))),
        None => Ok(names.iter().find_map(|name| paths::on_path(name))),
    }
}

/// Driver and browser must have the same major version. A mismatch would fail later, with a worse
/// message.
fn same_version(chrome: &str, driver: &str) -> Result<(), Failure> {
    match (major(chrome), major(driver)) {
        (Some(one), Some(other)) if one == other => Ok(()),
        _ => Err(Failure::new(format!(
            "`{}` and `{}` do not belong together; {HOW}",
            chrome.trim(),
            driver.trim()
        ))),
    }
}

/// `Chromium 156.0.7 built on Debian` and `ChromeDriver 156.0.7 (abc)` give 156.
fn major(version: &str) -> Option<u32> {
    version.split_whitespace().find_map(|word| word.split_once('.')?.0.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_and_a_driver_of_two_versions_are_refused() {
        assert!(
            same_version(
                "Chromium 156.0.7 built on Debian GNU/Linux 12\n",
                "ChromeDriver 156.0.7 (ab.cd)\n"
            )
            .is_ok()
        );
        assert!(
            same_version("Google Chrome 155.1.2", "ChromeDriver 156.0.7")
                .is_err_and(|why| why.what.contains("belong together"))
        );
        assert!(same_version("no version", "no version").is_err());
    }

    #[test]
    fn a_given_browser_that_is_not_there_is_no_reason_to_look_elsewhere() {
        let failure = given_or_found("CHROME", Some("/no/such/chrome".into()), &["sh"])
            .expect_err("it is not there");
        assert!(
            failure.what.contains("CHROME") && failure.what.contains("/no/such/chrome"),
            "{}",
            failure.what
        );
        assert!(given_or_found("CHROME", None, &["sh"]).expect("nothing was given").is_some());
        assert!(
            given_or_found("CHROME", Some(PathBuf::new()), &["no such program at all"])
                .expect("an empty value gives nothing")
                .is_none()
        );
    }
}
