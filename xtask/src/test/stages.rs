//! The stages of `cargo xtask test`, as data: what each needs, and the work it does.

use crate::{
    browser::{self, Browser},
    call::{Call, Failure},
    crash, crosscheck, fleet, guests, js_tests, load, native, npm, package, packages,
    paths::Paths,
    postgres, python, set_up, tidy, tools, wall, web_demo, windows,
};

/// What stages share.
pub(super) struct Ground<'a> {
    pub(super) paths: &'a Paths,
    /// Set by the stage `browser`.
    pub(super) browser: Option<Browser>,
    /// Whether to store the fuel that the hot paths use now.
    pub(super) bless: bool,
}

/// One stage.
pub(super) struct Stage {
    pub(super) name: &'static str,
    /// What it does, in a few words.
    pub(super) does: &'static str,
    /// The stages that must succeed before this one.
    pub(super) needs: &'static [&'static str],
    pub(super) work: Work,
}

/// The work of a stage.
pub(super) enum Work {
    /// One check, which passes or fails.
    Check(fn(&mut Ground) -> Result<(), Failure>),
    /// A test runner, which counts.
    Tests(fn(&Ground) -> Result<Call, Failure>),
}

const GUEST_TARGET: [&str; 2] = ["--target", guests::TARGET];

/// This program and `wakeful-proof`.
const TOOLS: [&str; 4] = ["-p", "xtask", "-p", "wakeful-proof"];

/// All stages, the quick ones first.
pub(super) const STAGES: [Stage; 38] = [
    Stage {
        name: "tidy",
        does: "what no compiler checks",
        needs: &[],
        work: Work::Check(|ground| tidy::check(ground.paths)),
    },
    Stage {
        name: "format",
        does: "cargo fmt --check",
        needs: &[],
        work: Work::Check(|ground| format(ground.paths)),
    },
    Stage {
        name: "set-up",
        does: "Node and the wasm targets",
        needs: &[],
        work: Work::Check(|ground| set_up::set_up(ground.paths)),
    },
    Stage {
        name: "core is pure",
        does: "the core on wasm32v1-none, which has no clock, file, thread or random number",
        needs: &["set-up"],
        work: Work::Check(|ground| {
            let call = Call::cargo(ground.paths, "core-is-pure", "check");
            call.args(["-p", "wakeful-core", "--target", "wasm32v1-none", "--features", "story"])
                .build()
        }),
    },
    Stage {
        name: "clippy, xtask",
        does: "xtask and wakeful-proof",
        needs: &[],
        work: Work::Check(|ground| clippy(ground, "xtask", &TOOLS)),
    },
    Stage {
        name: "clippy, native",
        does: "core, host, agent, command line and tests",
        needs: &[],
        work: Work::Check(|ground| clippy(ground, "native", &native::SELECTION)),
    },
    Stage {
        name: "clippy, guests",
        does: "the guests for wasm",
        needs: &["set-up"],
        // One call per package, as for the build: a single call would unify their features.
        work: Work::Check(|ground| {
            clippy(
                ground,
                "component",
                &[&["-p", "wakeful-component"], GUEST_TARGET.as_slice()].concat(),
            )?;
            clippy(
                ground,
                "oracle",
                &[&["-p", "wakeful-oracle"], GUEST_TARGET.as_slice()].concat(),
            )?;
            clippy(
                ground,
                "hostile",
                &[&["-p", "wakeful-hostile"], GUEST_TARGET.as_slice()].concat(),
            )?;
            clippy(
                ground,
                "web",
                &[&["-p", "wakeful-web", "--features", "workbench"], GUEST_TARGET.as_slice()]
                    .concat(),
            )
        }),
    },
    Stage {
        name: "narrow door",
        does: "hosts, examples and a third party's ledger use only the root of the core",
        needs: &[],
        // Separate calls, because our tests turn on the feature `internals` of the core.
        work: Work::Check(|ground| {
            let hosts =
                ["wakeful-host", "plugin-host", "first-story", "life"].map(|name| ["-p", name]);
            Call::cargo(ground.paths, "narrow-door", "check").args(hosts.concat()).build()?;
            // Each feature alone, because a build of them all hides what one of them lacks.
            for features in ["", "postgres", "sandbox", "sqlite"] {
                Call::cargo(ground.paths, &format!("narrow-door-{features}"), "check")
                    .args(["-p", "wakeful-host", "--no-default-features", "--features", features])
                    .build()?;
            }
            Call::cargo(ground.paths, "narrow-door-core", "test")
                .args(["-p", "wakeful-core"])
                .build()
        }),
    },
    Stage {
        name: "windows",
        does: "the published crates, checked for Windows",
        needs: &[],
        work: Work::Check(|ground| windows::check(ground.paths)),
    },
    Stage {
        name: "documentation",
        does: "cargo doc of the published crates, without a warning",
        needs: &[],
        work: Work::Check(|ground| {
            let call = Call::cargo(ground.paths, "documentation", "doc")
                .env("RUSTDOCFLAGS", "-D warnings");
            call.arg("--no-deps")
                .args(windows::PUBLISHED.iter().flat_map(|name| ["-p", name]))
                .build()
        }),
    },
    Stage {
        name: "xtask tests",
        does: "of xtask and wakeful-proof; docs/proof.md is current",
        needs: &[],
        work: Work::Tests(
            |ground| Ok(Call::cargo(ground.paths, "xtask-tests", "test").args(TOOLS)),
        ),
    },
    Stage {
        name: "tools",
        does: "wasm-bindgen and wit-component",
        needs: &[],
        work: Work::Check(|ground| tools::build(ground.paths)),
    },
    Stage {
        name: "guests",
        does: "the component, the oracle and the web module",
        needs: &["set-up", "tools"],
        work: Work::Check(|ground| guests::build(ground.paths)),
    },
    Stage {
        name: "seeded guests",
        does: "components with deliberate faults",
        needs: &["set-up", "tools"],
        work: Work::Check(|ground| guests::build_seeded(ground.paths)),
    },
    Stage {
        name: "native",
        does: "core, host, agent, command line and tests",
        needs: &[],
        work: Work::Check(|ground| native::build(ground.paths)),
    },
    Stage {
        name: "wall",
        does: "finding bubblewrap, Python, util-linux and git",
        needs: &[],
        work: Work::Check(|ground| wall::find(ground.paths)),
    },
    Stage {
        name: "postgres",
        does: "finding PostgreSQL",
        needs: &[],
        work: Work::Check(|ground| postgres::find(ground.paths)),
    },
    Stage {
        name: "browser",
        does: "finding a browser and its driver",
        needs: &[],
        work: Work::Check(|ground| {
            browser::find(ground.paths).map(|browser| ground.browser = Some(browser))
        }),
    },
    Stage {
        name: "native tests",
        does: "core, host, engines and stories",
        needs: &["native", "guests", "seeded guests", "wall", "postgres"],
        work: Work::Tests(|ground| {
            let call = Call::cargo(ground.paths, "native-tests", "test")
                .args(native::SELECTION)
                // Otherwise the tests after the first binary that fails would not be counted.
                .arg("--no-fail-fast");
            let call = if ground.bless { call.env("WAKEFUL_BLESS", "1") } else { call };
            Ok(with_browser(ground, call))
        }),
    },
    Stage {
        name: "crash",
        does: "processes die, a twentieth of `cargo xtask crash`",
        needs: &["native"],
        work: Work::Check(|ground| crash::share(ground.paths)),
    },
    Stage {
        name: "load",
        does: "a server under load and kills, a small part of `cargo xtask load`",
        needs: &["native"],
        work: Work::Check(|ground| load::share(ground.paths)),
    },
    Stage {
        name: "fleet",
        does: "three servers on one store under faults, a small part of `cargo xtask fleet`",
        needs: &["native", "postgres"],
        work: Work::Check(|ground| fleet::share(ground.paths)),
    },
    Stage {
        name: "wasm tests, Node",
        does: "the web module's tests in Node",
        needs: &["set-up", "tools"],
        work: Work::Tests(|ground| Ok(wasm_tests(ground, "node"))),
    },
    Stage {
        name: "wasm tests, browser",
        does: "the web module's tests in headless Chromium",
        needs: &["set-up", "tools", "browser"],
        work: Work::Tests(|ground| {
            let browser =
                ground.browser.as_ref().ok_or_else(|| Failure::new("no browser was found"))?;
            let settings = browser::write_driver_settings(ground.paths, browser)?;
            Ok(with_browser(ground, wasm_tests(ground, "browser"))
                .env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", settings))
        }),
    },
    Stage {
        name: "web module, Node",
        does: "the built web module from JavaScript",
        needs: &["set-up", "guests"],
        work: Work::Tests(|ground| js_tests::call(ground.paths)),
    },
    Stage {
        name: "workbench packages",
        does: "npm ci",
        needs: &["set-up"],
        work: Work::Check(|ground| packages::install(ground.paths, &ground.paths.web_demo())),
    },
    Stage {
        name: "format, TypeScript",
        does: "prettier --check of all TypeScript and JavaScript",
        needs: &["workbench packages"],
        work: Work::Check(|ground| web_demo::script(ground.paths, "format:check").build()),
    },
    Stage {
        name: "npm packages",
        does: "npm ci",
        needs: &["set-up"],
        work: Work::Check(|ground| packages::install(ground.paths, &ground.paths.npm())),
    },
    Stage {
        name: "python",
        does: "examples/python, and hosts that lie",
        needs: &["guests"],
        work: Work::Tests(|ground| {
            python::example(ground.paths)?;
            Ok(python::hostile(ground.paths))
        }),
    },
    Stage {
        name: "clients of the server",
        does: "Schemathesis, and the library of Standard Webhooks",
        needs: &["native"],
        work: Work::Check(|ground| python::server_clients(ground.paths)),
    },
    Stage {
        name: "crosscheck",
        does: "all cases in all engines, and a share of `cargo xtask crosscheck`",
        needs: &["native", "guests", "browser", "workbench packages"],
        work: Work::Check(|ground| {
            let browser =
                ground.browser.as_ref().ok_or_else(|| Failure::new("no browser was found"))?;
            crosscheck::share(ground.paths, browser)
        }),
    },
    Stage {
        name: "payload types",
        does: "the TypeScript types match the published schemas",
        needs: &["npm packages"],
        work: Work::Check(|ground| js_tests::payload_types(ground.paths).build()),
    },
    Stage {
        name: "npm package",
        does: "compiled and packed",
        needs: &["npm packages", "guests"],
        work: Work::Check(|ground| {
            guests::build_package(ground.paths)?;
            npm::build(ground.paths).map(|weight| anstream::eprint!("{weight}"))
        }),
    },
    Stage {
        name: "npm tests",
        does: "the tarball, in Node, in bundlers, in workerd and in a browser",
        // The life of an agent is told in Rust and Python too, and compared.
        needs: &["npm package", "browser", "native"],
        work: Work::Tests(|ground| {
            python::set_up(ground.paths)?;
            Ok(with_browser(ground, npm::script(ground.paths, "test")))
        }),
    },
    Stage {
        name: "workbench types",
        does: "npm run typecheck",
        needs: &["workbench packages", "guests"],
        work: Work::Check(|ground| web_demo::script(ground.paths, "typecheck").build()),
    },
    Stage {
        name: "workbench tests",
        does: "npm run test",
        needs: &["workbench packages", "guests"],
        work: Work::Tests(|ground| Ok(web_demo::script(ground.paths, "test"))),
    },
    Stage {
        name: "workbench in a browser",
        does: "recorded traces, npm run build, npm run e2e",
        needs: &["workbench packages", "native", "guests", "browser"],
        work: Work::Tests(|ground| {
            web_demo::bundle(ground.paths)?;
            web_demo::script(ground.paths, "build").build()?;
            Ok(with_browser(
                ground,
                web_demo::script(ground.paths, "e2e").env("WAKEFUL", ground.paths.wakeful()),
            ))
        }),
    },
    Stage {
        name: "crates",
        does: "packed and checked",
        needs: &["guests", "workbench in a browser"],
        work: Work::Check(|ground| {
            package::pack(ground.paths).map(|weight| anstream::eprint!("{weight}"))
        }),
    },
];

fn format(paths: &Paths) -> Result<(), Failure> {
    Call::cargo(paths, "format", "fmt").args(["--all", "--check"]).build()?;
    // The tools are a separate workspace.
    Call::cargo(paths, "format-tools", "fmt")
        .args(["--manifest-path", "xtask/tools/Cargo.toml", "--check"])
        .build()
}

fn clippy(ground: &Ground, log: &str, selection: &[&str]) -> Result<(), Failure> {
    Call::cargo(ground.paths, &format!("clippy-{log}"), "clippy")
        .args(selection)
        .args(["--all-targets", "--", "-D", "warnings"])
        .build()
}

fn wasm_tests(ground: &Ground, test: &str) -> Call {
    // A list instead of the environment variable, because cargo splits that one at spaces in a
    // path.
    let runner =
        format!("target.{}.runner = [{:?}, \"test-runner\"]", guests::TARGET, ground.paths.tools());
    Call::cargo(ground.paths, &format!("wasm-tests-{test}"), "test")
        .args(["-p", "wakeful-web", "--features", "workbench"])
        .args(GUEST_TARGET)
        .args(["--test", test])
        .args(["--config", &runner])
}

/// Passes the browser to the tests. Without one, the tests that need it fail with their own
/// message.
fn with_browser(ground: &Ground, call: Call) -> Call {
    match &ground.browser {
        Some(Browser { chrome, driver }) => call.env("CHROME", chrome).env("CHROMEDRIVER", driver),
        None => call,
    }
}
