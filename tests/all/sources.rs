//! Checks that pages and generated files agree with the sources, and what the guest imports.

use std::fs;

use wakeful_core::{fact::Fact, host::ErrorCode};
use wakeful_host::sandbox::{Guest, IMPORTS, Limit, Limits, Pool};
use wakeful_tests::paths;

#[test]
fn the_component_imports_exactly_ledger_clock_and_provider() {
    let guest = Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads");
    assert_eq!(guest.imports(), IMPORTS);
}

#[test]
fn the_published_schemas_are_what_the_types_say() {
    for (file, command, printed) in [
        ("docs/wakeful.schema.json", "wakeful print schema", wakeful::schema::text()),
        ("docs/wakeful.openapi.json", "wakeful print openapi", wakeful::schema::http()),
    ] {
        let committed = fs::read_to_string(paths::root().join(file)).expect(file);
        let printed = printed.expect("the schema prints");
        assert!(printed == committed, "{file} is stale: run `{command} > {file}`");
    }
}

/// The fenced code blocks of a page in one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_snippets_on_embedding_are_parts_of_examples_that_run() {
    let page = fs::read_to_string(paths::tree("docs/embedding.md")).expect("the page");
    let examples = [
        ("rust", "plugin-host/src/main.rs", 2),
        ("js", "node/agent.mjs", 1),
        ("python", "python/agent.py", 1),
    ];
    for (language, file, count) in examples {
        let example = fs::read_to_string(paths::tree("examples").join(file)).expect("the example");
        let blocks = blocks(&page, language);
        assert_eq!(blocks.len(), count, "{language}");
        for block in blocks {
            assert!(example.contains(block), "not a part of {file}:\n{block}");
        }
    }
}

#[test]
fn the_contract_lists_every_fact() {
    let contract = fs::read_to_string(paths::root().join("docs/contract.md")).expect("it");
    let chapter = contract.split("### 2.1 ").nth(1).expect("2.1");
    let lists = chapter.split("\n#").next().expect("its text").lines();
    let listed = lists.filter(|line| line.starts_with("- "));
    let mut listed: Vec<_> = listed
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| *name != "WaitFor")
        .collect();
    listed.sort_unstable();
    let mut names = Fact::NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(listed, names);
}

#[test]
fn the_first_decision_takes_few_lines() {
    let page = fs::read_to_string(paths::tree("docs/start.md")).expect("the page");
    let commands = blocks(&page, "sh");
    for (index, language) in ["rust", "ts"].into_iter().enumerate() {
        let program = blocks(&page, language);
        assert_eq!((commands.len(), program.len()), (2, 1), "{language}");
        let lines = commands[index].lines().chain(program[0].lines());
        let count = lines.filter(|line| !line.trim().is_empty()).count();
        assert!(count <= 15, "{language}: {count} lines from an empty folder");
    }
}

#[test]
fn the_page_on_embedding_has_every_code_and_every_limit() {
    let page = fs::read_to_string(paths::tree("docs/embedding.md")).expect("the page");
    let named = |name: &str| page.contains(&format!("`{name}`"));
    assert!(ErrorCode::ALL.iter().all(|code| named(&code.to_string())), "{:?}", ErrorCode::ALL);
    let limits = [
        Limit::Memory,
        Limit::Fuel,
        Limit::Time,
        Limit::Stack,
        Limit::Payload,
        Limit::Appended,
        Limit::HostCalls,
    ];
    assert!(limits.iter().all(|limit| named(limit.name())));
    let Limits {
        memory_bytes,
        fuel_per_call,
        fuel_per_page,
        call_ms,
        payload_bytes,
        append_bytes,
        host_calls,
    } = Limits::default();
    let rows = [
        ("memory_bytes", format!("{} MiB", memory_bytes >> 20)),
        ("fuel_per_call", thousands(fuel_per_call)),
        ("fuel_per_page", thousands(fuel_per_page)),
        ("call_ms", format!("{} ms", thousands(call_ms))),
        ("payload_bytes", format!("{} MiB", payload_bytes >> 20)),
        ("append_bytes", format!("{} MiB", append_bytes >> 20)),
        ("host_calls", thousands(host_calls)),
        ("stack_bytes` (pool)", format!("{} MiB", Pool::default().stack_bytes >> 20)),
    ];
    for (name, default) in rows {
        let row = format!("| `{name}{} | {default} |", if name.contains('`') { "" } else { "`" });
        assert!(page.contains(&row), "{row}");
    }
}

/// The number with commas between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}
