//! The stages of `cargo xtask test`, as data: the tier of each, what it needs, and its work.

use clap::ValueEnum;

use crate::{
    browser::{self, Browser},
    call::{Call, Failure},
    crosscheck,
    graph::{
        Ground,
        Lane::{Alone, Beside, Native},
        Stage,
        Work::{Check, Tests},
    },
    guests, js_tests, native, npm, package, packages,
    paths::Paths,
    postgres, python, run, shares, tidy, tools, wall, web_demo, windows,
};

/// How much is tested. A tier has the stages of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Tier {
    /// What a change breaks first.
    Quick,
    /// What a user would call the tests.
    Test,
    /// Everything.
    All,
}

const GUEST_TARGET: [&str; 2] = ["--target", guests::TARGET];

/// This program and `wakeful-proof`.
const TOOLS: [&str; 4] = ["-p", "xtask", "-p", "wakeful-proof"];

/// All stages. Within a lane they run in this order, as soon as their needs have ended.
pub(super) const STAGES: [(Tier, Stage); 44] = [
    (
        Tier::Quick,
        Stage {
            name: "format",
            does: "cargo fmt --check",
            needs: &[],
            lane: Beside,
            work: Check(|ground| format(ground.paths)),
        },
    ),
    (
        Tier::Quick,
        Stage {
            name: "tidy",
            does: "what no compiler checks",
            needs: &[],
            lane: Beside,
            work: Check(|ground| tidy::check(ground.paths)),
        },
    ),
    (Tier::Test, run::SET_UP),
    (Tier::Test, run::TOOLS),
    (Tier::Test, run::GUEST_MODULES),
    (Tier::Test, run::GUESTS),
    (
        Tier::Test,
        Stage {
            name: "native",
            does: "building core, host, agent, server, command line and their tests",
            needs: &["tools"],
            lane: Native,
            work: Check(|ground| native::build_tests(ground.paths)),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "test guests",
            does: "a component that misbehaves",
            needs: &["guests"],
            lane: Beside,
            work: Check(|ground| guests::build_for_tests(ground.paths)),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "wall",
            does: "finding bubblewrap, Python, util-linux and git",
            needs: &[],
            lane: Beside,
            work: Check(|ground| wall::find(ground.paths)),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "postgres",
            does: "finding PostgreSQL",
            needs: &[],
            lane: Beside,
            work: Check(|ground| postgres::find(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "browser",
            does: "finding a browser and its driver",
            needs: &[],
            lane: Beside,
            work: Check(|ground| {
                let found = browser::find(ground.paths)?;
                // Only this stage sets it, and it runs once.
                let _ = ground.browser.set(found);
                Ok(())
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "workbench packages",
            does: "npm ci",
            needs: &["set-up"],
            lane: Beside,
            work: Check(|ground| packages::install(ground.paths, &ground.paths.web_demo())),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "npm packages",
            does: "npm ci",
            needs: &["set-up"],
            lane: Beside,
            work: Check(|ground| packages::install(ground.paths, &ground.paths.npm())),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "format, TypeScript",
            does: "prettier --check of all TypeScript and JavaScript",
            needs: &["workbench packages"],
            lane: Beside,
            work: Check(|ground| web_demo::script(ground.paths, "format:check").build()),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "payload types",
            does: "the TypeScript types match the published schemas",
            needs: &["npm packages"],
            lane: Beside,
            work: Check(|ground| js_tests::payload_types(ground.paths).build()),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "native tests",
            does: "core, host, engines, agents, server, command line and stories",
            needs: &["native", "guests", "test guests", "wall", "postgres", "browser"],
            lane: Alone,
            work: Tests(|ground| {
                let calls = native::tests(ground.paths)?.into_iter();
                let bless = |call: Call| match ground.bless {
                    true => call.env("WAKEFUL_BLESS", "1"),
                    false => call,
                };
                Ok(calls.map(|call| with_browser(ground, bless(call))).collect())
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "examples in pages",
            does: "the Rust of doc comments",
            needs: &["native"],
            lane: Native,
            work: Tests(|ground| {
                let call = Call::cargo(ground.paths, "examples-in-pages", "test");
                Ok(vec![call.args(native::SELECTION).args(["--doc", "--no-fail-fast"])])
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "xtask tests",
            does: "of xtask and wakeful-proof; docs/proof.md is current",
            needs: &["native"],
            lane: Native,
            work: Tests(|ground| {
                Ok(vec![Call::cargo(ground.paths, "xtask-tests", "test").args(TOOLS)])
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "core is pure",
            does: "the core on wasm32v1-none, which has no clock, file, thread or random number",
            needs: &["set-up", "native"],
            lane: Native,
            work: Check(|ground| {
                let call = Call::cargo(ground.paths, "core-is-pure", "check").args([
                    "-p",
                    "wakeful-core",
                    "--target",
                    "wasm32v1-none",
                ]);
                call.args(["--features", "story"]).build()
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "clippy, core",
            does: "the core and its JSON",
            needs: &["native"],
            lane: Native,
            work: Check(|ground| {
                clippy(ground, "core", &["-p", "wakeful-core", "-p", "wakeful-json"])
            }),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "clippy",
            does: "all native crates",
            needs: &["native"],
            lane: Native,
            work: Check(|ground| clippy(ground, "native", &native::SELECTION)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "clippy, xtask",
            does: "xtask and wakeful-proof",
            needs: &["native"],
            lane: Native,
            work: Check(|ground| clippy(ground, "xtask", &TOOLS)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "clippy, guests",
            does: "the guests for wasm",
            needs: &["set-up", "native"],
            lane: Native,
            // One call per package, as for the build: a single call would unify their features.
            work: Check(|ground| {
                for name in ["component", "hostile", "web"] {
                    let package = format!("wakeful-{name}");
                    let features: &[&str] =
                        if name == "web" { &["--features", "workbench"] } else { &[] };
                    clippy(
                        ground,
                        name,
                        &[&["-p", package.as_str()], GUEST_TARGET.as_slice(), features].concat(),
                    )?;
                }
                Ok(())
            }),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "narrow door",
            does: "hosts, examples and a third party's ledger use only the root of the core",
            needs: &["native"],
            lane: Native,
            // Separate calls, because our tests turn on the feature `internals` of the core.
            work: Check(|ground| {
                let hosts =
                    ["wakeful-host", "plugin-host", "first-story", "life"].map(|name| ["-p", name]);
                Call::cargo(ground.paths, "narrow-door", "check").args(hosts.concat()).build()?;
                // Each feature alone, because a build of them all hides what one of them lacks.
                for features in ["", "postgres", "sandbox", "sqlite"] {
                    Call::cargo(ground.paths, &format!("narrow-door-{features}"), "check")
                        .args(["-p", "wakeful-host", "--no-default-features"])
                        .args(["--features", features])
                        .build()?;
                }
                Call::cargo(ground.paths, "narrow-door-core", "test")
                    .args(["-p", "wakeful-core"])
                    .build()
            }),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "windows",
            does: "the published crates, checked for Windows",
            needs: &["native"],
            lane: Native,
            work: Check(|ground| windows::check(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "documentation",
            does: "cargo doc of the published crates, without a warning",
            needs: &["native"],
            lane: Native,
            work: Check(|ground| {
                let call = Call::cargo(ground.paths, "documentation", "doc")
                    .env("RUSTDOCFLAGS", "-D warnings");
                call.arg("--no-deps")
                    .args(windows::PUBLISHED.iter().flat_map(|name| ["-p", name]))
                    .build()
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "web module, Node",
            does: "the built web module from JavaScript",
            needs: &["guests"],
            lane: Beside,
            work: Tests(|ground| js_tests::call(ground.paths).map(|call| vec![call])),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "test runner",
            does: "building wasm-bindgen's runner of tests",
            needs: &["native"],
            lane: Native,
            work: Check(|ground| tools::build_runner(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "wasm tests, Node",
            does: "the web module's tests in Node",
            needs: &["set-up", "test runner"],
            lane: Native,
            work: Tests(|ground| Ok(vec![wasm_tests(ground, "node")])),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "wasm tests, browser",
            does: "the web module's tests in headless Chromium",
            needs: &["set-up", "test runner", "browser"],
            lane: Native,
            work: Tests(|ground| {
                let settings = browser::write_driver_settings(ground.paths, ground.browser()?)?;
                let call = with_browser(ground, wasm_tests(ground, "browser"));
                Ok(vec![call.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", settings)])
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "python",
            does: "examples/python, and hosts that lie",
            needs: &["guests"],
            lane: Beside,
            work: Tests(|ground| {
                python::example(ground.paths)?;
                Ok(vec![python::hostile(ground.paths)])
            }),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "clients of the server",
            does: "Schemathesis, and the library of Standard Webhooks",
            needs: &["native"],
            lane: Beside,
            work: Check(|ground| python::server_clients(ground.paths)),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "crosscheck",
            does: "all cases natively, in wasmtime and in Node",
            needs: &["native", "guests"],
            lane: Beside,
            work: Check(|ground| crosscheck::cases(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "crosscheck, all engines",
            does: "all cases in seven engines, and a share of `cargo xtask crosscheck`",
            needs: &["native", "guests", "browser", "workbench packages"],
            lane: Beside,
            work: Check(|ground| crosscheck::share(ground.paths, ground.browser()?)),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "npm package",
            does: "compiled and packed",
            needs: &["npm packages", "guests"],
            lane: Beside,
            work: Check(|ground| {
                guests::build_package(ground.paths)?;
                npm::build(ground.paths).map(|weight| anstream::eprint!("{weight}"))
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "npm tests",
            does: "the tarball in Node",
            // The life of an agent is told in Rust and Python too, and compared.
            needs: &["npm package", "native", "python"],
            lane: Beside,
            work: Tests(|ground| Ok(vec![npm::script(ground.paths, "test")])),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "npm tests, bundlers",
            does: "the tarball in bundlers, in workerd, in Bun and in a browser",
            needs: &["npm package", "browser"],
            lane: Beside,
            work: Tests(|ground| {
                Ok(vec![with_browser(ground, npm::script(ground.paths, "test:outside"))])
            }),
        },
    ),
    (
        Tier::Test,
        Stage {
            name: "workbench tests",
            does: "npm run typecheck, npm run test",
            needs: &["workbench packages", "guests"],
            lane: Beside,
            work: Tests(|ground| {
                web_demo::script(ground.paths, "typecheck").build()?;
                Ok(vec![web_demo::script(ground.paths, "test")])
            }),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "workbench in a browser",
            does: "recorded traces, npm run build, npm run e2e",
            needs: &["workbench packages", "native", "guests", "browser"],
            lane: Alone,
            work: Tests(|ground| {
                web_demo::bundle(ground.paths)?;
                web_demo::script(ground.paths, "build").build()?;
                let call = web_demo::script(ground.paths, "e2e");
                Ok(vec![with_browser(ground, call.env("WAKEFUL", ground.paths.wakeful()))])
            }),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "crash",
            does: "processes die, a twentieth of `cargo xtask crash`",
            needs: &["native"],
            lane: Beside,
            work: Check(|ground| shares::crash(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "model",
            does: "fifty thousand states of the machine, a twentieth of `cargo xtask model`",
            needs: &["native"],
            lane: Beside,
            work: Check(|ground| shares::model(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "load",
            does: "a server under load and kills, a small part of `cargo xtask load`",
            needs: &["native"],
            lane: Alone,
            work: Check(|ground| shares::load(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "fleet",
            does: "three servers on one store under faults, a small part of `cargo xtask fleet`",
            needs: &["native", "postgres"],
            lane: Alone,
            work: Check(|ground| shares::fleet(ground.paths)),
        },
    ),
    (
        Tier::All,
        Stage {
            name: "crates",
            does: "packed and checked",
            needs: &["guests", "workbench in a browser"],
            lane: Native,
            work: Check(|ground| {
                package::pack(ground.paths).map(|weight| anstream::eprint!("{weight}"))
            }),
        },
    ),
];

fn format(paths: &Paths) -> Result<(), Failure> {
    Call::cargo(paths, "format", "fmt").args(["--all", "--check"]).build()
}

fn clippy(ground: &Ground<'_>, log: &str, selection: &[&str]) -> Result<(), Failure> {
    Call::cargo(ground.paths, &format!("clippy-{log}"), "clippy")
        .args(selection)
        .args(["--all-targets", "--", "-D", "warnings"])
        .build()
}

fn wasm_tests(ground: &Ground<'_>, test: &str) -> Call {
    // A list instead of the environment variable, because cargo splits that one at spaces in a
    // path.
    let runner = format!("target.{}.runner = [{:?}]", guests::TARGET, tools::runner(ground.paths));
    Call::cargo(ground.paths, &format!("wasm-tests-{test}"), "test")
        .args(["-p", "wakeful-web", "--features", "workbench"])
        .args(GUEST_TARGET)
        .args(["--test", test])
        .args(["--config", &runner])
}

/// Passes the browser to the tests. Without one, the tests that need it fail with their own
/// message.
fn with_browser(ground: &Ground<'_>, call: Call) -> Call {
    match ground.browser.get() {
        Some(Browser { chrome, driver }) => call.env("CHROME", chrome).env("CHROMEDRIVER", driver),
        None => call,
    }
}
