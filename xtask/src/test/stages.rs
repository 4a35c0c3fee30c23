//! The stages of `cargo xtask test`, as data: the tier of each, what it needs, and its work.

use crate::{
    browser::{self, Browser},
    call::{Call, Failure},
    counts, crosscheck,
    graph::{
        Ground,
        Lane::{Alone, Beside, Native},
        Stage, Tier,
        Work::{Check, Tests},
    },
    guests, js_tests, native, npm, package, packages,
    paths::Paths,
    postgres, python, run, shares, tidy, tools, wall, web_demo, windows,
};

const GUEST_TARGET: [&str; 2] = ["--target", guests::TARGET];

/// This program and `wakeful-proof`.
const TOOLS: [&str; 4] = ["-p", "xtask", "-p", "wakeful-proof"];

/// All stages. Within a lane they run in this order, as soon as their needs have ended.
pub(super) const STAGES: [Stage; 45] = [
    Stage {
        name: "format",
        tier: Tier::Quick,
        does: "cargo fmt --check",
        needs: &[],
        lane: Beside,
        work: Check(|ground| format(ground.paths)),
    },
    Stage {
        name: "tidy",
        tier: Tier::Quick,
        does: "what no compiler checks",
        needs: &[],
        lane: Beside,
        work: Check(|ground| tidy::check(ground.paths)),
    },
    run::SET_UP,
    run::TOOLS,
    run::GUEST_MODULES,
    run::GUESTS,
    Stage {
        name: "native",
        tier: Tier::Test,
        does: "building core, host, agent, server, command line and their tests",
        needs: &["tools"],
        lane: Native,
        work: Check(|ground| native::build_tests(ground.paths)),
    },
    Stage {
        name: "test guests",
        tier: Tier::Test,
        does: "a component that misbehaves",
        needs: &["guests"],
        lane: Beside,
        work: Check(|ground| guests::build_for_tests(ground.paths)),
    },
    Stage {
        name: "wall",
        tier: Tier::Test,
        does: "finding bubblewrap, Python, util-linux and git",
        needs: &[],
        lane: Beside,
        work: Check(|ground| wall::find(ground.paths)),
    },
    Stage {
        name: "postgres",
        tier: Tier::Test,
        does: "finding PostgreSQL",
        needs: &[],
        lane: Beside,
        work: Check(|ground| postgres::find(ground.paths)),
    },
    Stage {
        name: "browser",
        tier: Tier::All,
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
    Stage {
        name: "workbench packages",
        tier: Tier::Test,
        does: "npm ci",
        needs: &["set-up"],
        lane: Beside,
        work: Check(|ground| packages::install(ground.paths, &ground.paths.web_demo())),
    },
    Stage {
        name: "npm packages",
        tier: Tier::Test,
        does: "npm ci",
        needs: &["set-up"],
        lane: Beside,
        work: Check(|ground| packages::install(ground.paths, &ground.paths.npm())),
    },
    Stage {
        name: "format, TypeScript",
        tier: Tier::Test,
        does: "prettier --check of all TypeScript and JavaScript",
        needs: &["workbench packages"],
        lane: Beside,
        work: Check(|ground| web_demo::script(ground.paths, "format:check").build()),
    },
    Stage {
        name: "payload types",
        tier: Tier::Test,
        does: "the TypeScript types match the published schemas",
        needs: &["npm packages"],
        lane: Beside,
        work: Check(|ground| js_tests::payload_types(ground.paths).build()),
    },
    Stage {
        name: "native tests",
        tier: Tier::Test,
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
    Stage {
        name: "examples in pages",
        tier: Tier::Test,
        does: "the Rust of doc comments",
        needs: &["native"],
        lane: Native,
        work: Tests(|ground| {
            let call = Call::cargo(ground.paths, "examples-in-pages", "test");
            Ok(vec![call.args(native::SELECTION).args(["--doc", "--no-fail-fast"])])
        }),
    },
    Stage {
        name: "xtask tests",
        tier: Tier::Test,
        does: "of xtask and wakeful-proof; docs/proof.md is current",
        needs: &["native"],
        lane: Native,
        work: Tests(|ground| {
            Ok(vec![Call::cargo(ground.paths, "xtask-tests", "test").args(TOOLS)])
        }),
    },
    Stage {
        name: "core is pure",
        tier: Tier::Test,
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
    Stage {
        name: "clippy, core",
        tier: Tier::Test,
        does: "the core and its JSON",
        needs: &["native"],
        lane: Native,
        work: Check(|ground| clippy(ground, "core", &["-p", "wakeful-core", "-p", "wakeful-json"])),
    },
    Stage {
        name: "clippy",
        tier: Tier::All,
        does: "all native crates",
        needs: &["native"],
        lane: Native,
        work: Check(|ground| clippy(ground, "native", &native::SELECTION)),
    },
    Stage {
        name: "clippy, xtask",
        tier: Tier::All,
        does: "xtask and wakeful-proof",
        needs: &["native"],
        lane: Native,
        work: Check(|ground| clippy(ground, "xtask", &TOOLS)),
    },
    Stage {
        name: "clippy, guests",
        tier: Tier::All,
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
    Stage {
        name: "narrow door",
        tier: Tier::All,
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
    Stage {
        name: "windows",
        tier: Tier::All,
        does: "the published crates, checked for Windows",
        needs: &["native"],
        lane: Native,
        work: Check(|ground| windows::check(ground.paths)),
    },
    Stage {
        name: "documentation",
        tier: Tier::All,
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
    Stage {
        name: "web module, Node",
        tier: Tier::Test,
        does: "the built web module from JavaScript",
        needs: &["guests"],
        lane: Beside,
        work: Tests(|ground| js_tests::call(ground.paths).map(|call| vec![call])),
    },
    Stage {
        name: "test runner",
        tier: Tier::All,
        does: "building wasm-bindgen's runner of tests",
        needs: &["native"],
        lane: Native,
        work: Check(|ground| tools::build_runner(ground.paths)),
    },
    Stage {
        name: "wasm tests, Node",
        tier: Tier::All,
        does: "the web module's tests in Node",
        needs: &["set-up", "test runner"],
        lane: Native,
        work: Tests(|ground| Ok(vec![wasm_tests(ground, "node")])),
    },
    Stage {
        name: "wasm tests, browser",
        tier: Tier::All,
        does: "the web module's tests in headless Chromium",
        needs: &["set-up", "test runner", "browser"],
        lane: Native,
        work: Tests(|ground| {
            let settings = browser::write_driver_settings(ground.paths, ground.browser()?)?;
            let call = with_browser(ground, wasm_tests(ground, "browser"));
            Ok(vec![call.env("WASM_BINDGEN_TEST_WEBDRIVER_JSON", settings)])
        }),
    },
    Stage {
        name: "python",
        tier: Tier::Test,
        does: "examples/python, and hosts that lie",
        needs: &["guests"],
        lane: Beside,
        work: Tests(|ground| {
            python::example(ground.paths)?;
            Ok(vec![python::hostile(ground.paths)])
        }),
    },
    Stage {
        name: "clients of the server",
        tier: Tier::All,
        does: "Schemathesis, and the library of Standard Webhooks",
        needs: &["native"],
        lane: Beside,
        work: Check(|ground| python::server_clients(ground.paths)),
    },
    Stage {
        name: "crosscheck",
        tier: Tier::Test,
        does: "all cases natively, in wasmtime and in Node",
        needs: &["native", "guests"],
        lane: Beside,
        work: Check(|ground| crosscheck::cases(ground.paths)),
    },
    Stage {
        name: "crosscheck, all engines",
        tier: Tier::All,
        does: "all cases in seven engines, and a share of `cargo xtask crosscheck`",
        needs: &["native", "guests", "browser", "workbench packages"],
        lane: Beside,
        work: Check(|ground| crosscheck::share(ground.paths, ground.browser()?)),
    },
    Stage {
        name: "npm package",
        tier: Tier::Test,
        does: "compiled and packed",
        needs: &["npm packages", "guests"],
        lane: Beside,
        work: Check(|ground| {
            guests::build_package(ground.paths)?;
            npm::build(ground.paths).map(|weight| anstream::eprint!("{weight}"))
        }),
    },
    Stage {
        name: "npm tests",
        tier: Tier::Test,
        does: "the tarball in Node",
        // The life of an agent is told in Rust and Python too, and compared.
        needs: &["npm package", "native", "python"],
        lane: Beside,
        work: Tests(|ground| Ok(vec![npm::script(ground.paths, "test")])),
    },
    Stage {
        name: "npm tests, bundlers",
        tier: Tier::All,
        does: "the tarball in bundlers, in workerd, in Bun and in a browser",
        // The client speaks with a server.
        needs: &["npm package", "native", "browser"],
        lane: Beside,
        work: Tests(|ground| {
            Ok(vec![with_browser(ground, npm::script(ground.paths, "test:outside"))])
        }),
    },
    Stage {
        name: "workbench tests",
        tier: Tier::Test,
        does: "npm run typecheck, npm run test",
        needs: &["workbench packages", "guests"],
        lane: Beside,
        work: Tests(|ground| {
            web_demo::script(ground.paths, "typecheck").build()?;
            Ok(vec![web_demo::script(ground.paths, "test")])
        }),
    },
    Stage {
        name: "workbench in a browser",
        tier: Tier::All,
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
    Stage {
        name: "counts",
        tier: Tier::All,
        does: "instructions and allocations of the core's hot paths, as they are recorded",
        needs: &["native"],
        lane: Native,
        work: Check(|ground| counts::check(ground.paths, ground.bless)),
    },
    Stage {
        name: "crash",
        tier: Tier::All,
        does: "processes die, a twentieth of `cargo xtask crash`",
        needs: &["native"],
        lane: Beside,
        work: Check(|ground| shares::crash(ground.paths)),
    },
    Stage {
        name: "model",
        tier: Tier::All,
        does: "fifty thousand states of the machine, a twentieth of `cargo xtask model`",
        needs: &["native"],
        lane: Beside,
        work: Check(|ground| shares::model(ground.paths)),
    },
    Stage {
        name: "load",
        tier: Tier::All,
        does: "a server under load and kills, a small part of `cargo xtask load`",
        needs: &["native"],
        lane: Alone,
        work: Check(|ground| shares::load(ground.paths)),
    },
    Stage {
        name: "fleet",
        tier: Tier::All,
        does: "three servers on one store under faults, a small part of `cargo xtask fleet`",
        needs: &["native", "postgres"],
        lane: Alone,
        work: Check(|ground| shares::fleet(ground.paths)),
    },
    Stage {
        name: "crates",
        tier: Tier::All,
        does: "packed and checked",
        needs: &["guests", "workbench in a browser"],
        lane: Native,
        work: Check(|ground| {
            package::pack(ground.paths).map(|weight| anstream::eprint!("{weight}"))
        }),
    },
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
