//! `cargo xtask package`: packs the crates as a registry hands them out, installs the program from
//! them, and tries it outside of the tree.
//!
//! A crate is only its own folder, but the published host carries its guest and the worlds that it
//! was compiled against. So the crates are packed in a copy of the tree (target/package/tree) with
//! these files in the folder of the host. A release is published from that copy.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, ExitCode},
};

use crate::{
    call::{Call, Failure},
    copy, guests, native, packages,
    paths::{Paths, program},
    set_up,
    stage::{bold, stage},
    tools, web_demo,
};

/// A published crate.
struct Crate {
    name: &'static str,
    /// Its folder in the tree.
    folder: &'static str,
    /// The files that the packed crate must have beside its sources.
    holds: &'static [&'static str],
}

/// The published crates; each depends on those before it.
const CRATES: [Crate; 7] = [
    Crate {
        name: "wakeful-json-derive",
        folder: "core/json/derive",
        holds: &["LICENSE", "README.md"],
    },
    Crate { name: "wakeful-json", folder: "core/json", holds: &["LICENSE", "README.md"] },
    Crate { name: "wakeful-core", folder: "core", holds: &["LICENSE", "README.md"] },
    Crate {
        name: "wakeful-host",
        folder: HOST,
        holds: &["LICENSE", "README.md", GUEST, "wit/0.2.0/scheduler.wit"],
    },
    Crate { name: "wakeful-agent", folder: "agent", holds: &["LICENSE", "README.md"] },
    Crate { name: "wakeful-serve", folder: SERVER, holds: &["LICENSE", "README.md", PAGE] },
    Crate { name: "wakeful", folder: "cli", holds: &["LICENSE", "README.md"] },
];

/// The folder of the host.
const HOST: &str = "host-native";

/// The path of the guest in the packed host.
const GUEST: &str = "guest/wakeful.component.wasm";

/// The folder of the server.
const SERVER: &str = "serve";

/// The page of the workbench in the packed server.
const PAGE: &str = "workbench/index.html";

/// The version of the world that the host is compiled against.
const WORLD: &str = "0.2.0";

/// Texts of the tree, and what they become in the package.
const MOVED: [[&str; 3]; 3] = [
    ["host-native/src/sandbox/bindings.rs", "\"../wasm/wit/0.2.0", "\"wit/0.2.0"],
    [
        "host-native/Cargo.toml",
        "\ndefault = [\"sandbox\", \"sqlite\"]\n",
        "\ndefault = [\"sandbox\", \"sqlite\", \"embed-guest\"]\n",
    ],
    [
        "cli/Cargo.toml",
        "\n[features]\n",
        "\n[features]\ndefault = [\"embed-guest\", \"embed-workbench\"]\n",
    ],
];

/// Packs the crates. Then installs the program from them and uses it, unless `--no-install` is
/// given.
pub(crate) fn package(paths: &Paths, installs: bool) -> Result<ExitCode, Failure> {
    stage("set-up", "checking Node and the wasm targets", || set_up::set_up(paths))?;
    stage("tools", "building wasm-bindgen and wit-component (once)", || tools::build(paths))?;
    stage("guests", "building the component", || guests::build(paths))?;
    stage("workbench", "building the page that the server hands out", || {
        packages::install(paths, &paths.web_demo())?;
        native::build_programs(paths, &["wakeful"])?;
        web_demo::bundle(paths)?;
        web_demo::script(paths, "build").build()
    })?;
    anstream::print!("{}", stage("pack", "packing the crates", || pack(paths))?);
    if installs {
        stage("install", "installing the program from the packed crates", || install(paths))?;
        anstream::print!("{}", stage("try", "using it where no source tree is", || try_it(paths))?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Packs the crates and checks them. Returns a line for each.
pub(crate) fn pack(paths: &Paths) -> Result<String, Failure> {
    let tree = Paths::from_root(copy::update(paths, "package/tree")?);
    gather(paths, &tree)?;
    let named = CRATES.iter().flat_map(|packed| ["-p", packed.name]);
    let target = paths.at("target/package");
    Call::cargo(paths, "package", "package")
        // The copy has the files that only the packages hold.
        .folder(tree.root())
        .env("CARGO_TARGET_DIR", &target)
        // The copy differs from the commit on purpose. `install` compiles what was packed.
        .args(["--no-verify", "--allow-dirty", "--quiet"])
        .args(named)
        .build()?;
    CRATES.iter().map(|packed| look_into(paths, packed)).collect()
}

/// Copies into the folder of each crate the files that the tree has elsewhere.
fn gather(paths: &Paths, tree: &Paths) -> Result<(), Failure> {
    for packed in &CRATES {
        put(&paths.at("LICENSE"), &tree.at(packed.folder).join("LICENSE"))?;
    }
    let host = tree.at(HOST);
    put(&paths.at("target").join(GUEST), &host.join(GUEST))?;
    let folder = paths.at("wasm/wit").join(WORLD);
    let files = fs::read_dir(&folder)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", folder.display())))?;
    for file in files.filter_map(Result::ok) {
        put(&file.path(), &host.join("wit").join(WORLD).join(file.file_name()))?;
    }
    let page = paths.web_demo().join("dist");
    if !page.join("index.html").is_file() {
        return Err(Failure::new(format!(
            "{} is not built: run `npm run build` in web-demo",
            page.display()
        )));
    }
    put_folder(&page, &tree.at(SERVER).join("workbench"))?;
    for [file, from, to] in MOVED {
        let file = tree.at(file);
        let unread = |why| Failure::new(format!("cannot change {}: {why}", file.display()));
        let text = fs::read_to_string(&file).map_err(unread)?;
        // A text that stays would pack a host without its guest, or with a path out of its crate.
        if text.matches(from).count() != 1 {
            return Err(Failure::new(format!(
                "{} does not have {from:?} once; mend MOVED in xtask/src/package.rs",
                file.display()
            )));
        }
        fs::write(&file, text.replace(from, to)).map_err(unread)?;
    }
    Ok(())
}

/// Copies a folder with everything in it.
fn put_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    // Files of an earlier build have other names, and would stay.
    let _ = fs::remove_dir_all(to);
    let unread = |why| Failure::new(format!("cannot read {}: {why}", from.display()));
    for entry in fs::read_dir(from).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let there = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { put_folder(&path, &there)? } else { put(&path, &there)? }
    }
    Ok(())
}

fn put(from: &Path, to: &Path) -> Result<(), Failure> {
    to.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::copy(from, to).map(drop))
        .map_err(|why| {
            Failure::new(format!("cannot copy {} to {}: {why}", from.display(), to.display()))
        })
}

/// Unpacks a crate as users get it, and checks that everything is there.
fn look_into(paths: &Paths, packed: &Crate) -> Result<String, Failure> {
    let file = paths.at("target/package/package").join(format!(
        "{}-{}.crate",
        packed.name,
        env!("CARGO_PKG_VERSION")
    ));
    let folder = unpacked(paths, packed);
    // A file that an earlier run unpacked would pass the check below.
    let _ = fs::remove_dir_all(&folder);
    let above = paths.at("target/package/unpacked");
    fs::create_dir_all(&above)
        .map_err(|why| Failure::new(format!("cannot make {}: {why}", above.display())))?;
    // The files get the current time. In a crate all files have one fixed time, so cargo would not
    // notice a change.
    Call::new(paths, "unpack", "tar").arg("-xzmf").arg(&file).arg("-C").arg(&above).build()?;
    if let Some(lost) = packed.holds.iter().find(|path| !folder.join(path).is_file()) {
        return Err(Failure::new(format!("{} has no {lost}", file.display())));
    }
    if folder.join("tests").exists() {
        return Err(Failure::new(format!(
            "{} has tests, which need the tree; exclude them in its Cargo.toml",
            file.display()
        )));
    }
    let weight = fs::metadata(&file).map_or(0, |data| data.len());
    Ok(format!("{} {}, {} kB\n", packed.name, env!("CARGO_PKG_VERSION"), weight / 1000))
}

fn unpacked(paths: &Paths, packed: &Crate) -> PathBuf {
    paths.at("target/package/unpacked").join(format!(
        "{}-{}",
        packed.name,
        env!("CARGO_PKG_VERSION")
    ))
}

/// A folder outside of the tree, so that a search upwards finds nothing of the tree.
fn elsewhere() -> PathBuf {
    env::temp_dir().join(format!("wakeful-package-{}", process::id()))
}

fn install(paths: &Paths) -> Result<(), Failure> {
    let [below @ .., program] = &CRATES;
    // The registry does not have them yet, so the packed crates take its place.
    let patch = |packed: &Crate| {
        format!("patch.crates-io.{}.path={:?}", packed.name, unpacked(paths, packed))
    };
    Call::cargo(paths, "install", "install")
        // Outside of the tree, so that cargo does not read the configuration of the tree.
        .folder(env::temp_dir())
        .arg("--path")
        .arg(unpacked(paths, program))
        .args(["--debug", "--root"])
        .arg(elsewhere())
        .args(below.iter().flat_map(|packed| ["--config".to_owned(), patch(packed)]))
        .env("CARGO_TARGET_DIR", paths.at("target/package/installed"))
        .build()
}

/// Uses the installed program in a separate folder: prints its version, and explains a story in the
/// sandbox with the guest that it carries.
fn try_it(paths: &Paths) -> Result<String, Failure> {
    let folder = elsewhere();
    let story = folder.join("heartbeat.json");
    put(&paths.at("tests/fixtures/stories/heartbeat.json"), &story)?;
    let wakeful = |log: &str| {
        Call::new(paths, log, folder.join("bin").join(program("wakeful"))).folder(&folder)
    };
    let version = wakeful("installed-version").arg("--version").answer()?;
    let ran = |engine: &str| {
        // A developer may have set this variable, and then another guest would be used.
        let call = wakeful("installed-explain").env("WAKEFUL_GUEST", "").arg("explain").arg(&story);
        call.args(["--engine", engine, "--json"]).answer()
    };
    let (native, sandboxed) = (ran("native")?, ran("wasmtime")?);
    if native != sandboxed {
        return Err(Failure::new(
            "the installed program explains otherwise in its sandbox than without",
        ));
    }
    fs::remove_dir_all(&folder)
        .map_err(|why| Failure::new(format!("cannot remove {}: {why}", folder.display())))?;
    Ok(format!(
        "{}: {} explains a story the same, natively and by the guest that it carries\n",
        bold("package"),
        version.trim()
    ))
}
