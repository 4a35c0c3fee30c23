//! `cargo xtask semver`: checks whether the public interfaces allow the versions, compared with the
//! last release.

use std::process::ExitCode;

use xtask::{
    call::{Call, Failure, exit_code},
    needed::missing,
    paths::Paths,
    stage::bold,
    windows::PUBLISHED,
};

/// The published crates, without the derive crate, whose interface the tool cannot read.
fn crates() -> impl Iterator<Item = &'static str> {
    PUBLISHED.into_iter().filter(|name| !name.ends_with("-derive"))
}

/// Compares with a commit, or with the newest tag of a release before this one.
pub(crate) fn semver(paths: &Paths, against: Option<&str>) -> Result<ExitCode, Failure> {
    if Call::cargo(paths, "semver-version", "semver-checks").arg("--version").answer().is_err() {
        return Ok(missing("cargo-semver-checks", "`cargo install --locked cargo-semver-checks`"));
    }
    let Some(revision) = against.map(str::to_owned).or_else(|| last_release(paths)) else {
        anstream::println!(
            "{}: no release has a tag yet, so every interface is free; `--against REV` compares \
             with a commit",
            bold("semver")
        );
        return Ok(ExitCode::SUCCESS);
    };
    let named = crates().flat_map(|name| ["--package", name]);
    let call = Call::cargo(paths, "semver", "semver-checks")
        .args(named)
        .args(["--baseline-rev", &revision]);
    let status = call.pass_through()?;
    if status.success() {
        anstream::println!(
            "{}: the interfaces of {} crates allow their versions, compared with {revision}",
            bold("semver"),
            crates().count()
        );
    }
    Ok(exit_code(status))
}

/// The newest tag `v*` among the ancestors.
fn last_release(paths: &Paths) -> Option<String> {
    let tag = Call::new(paths, "semver-tag", "git")
        .args(["describe", "--tags", "--abbrev=0", "--match", "v*"])
        .answer()
        .ok()?;
    Some(tag.trim().to_owned())
}
