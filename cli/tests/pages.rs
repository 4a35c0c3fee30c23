//! Tests of the pages. The commands of a `console` block are run, each page in its own folder, and
//! must print what the page shows. Every other command must at least be parsed by its program.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::program::source;

/// Programs in the pages that are not ours.
const OTHERS: [&str; 9] =
    ["curl", "export", "npm", "ollama", "llama-server", "podman", "sqlite3", "sudo", "vllm"];

/// The languages of fenced blocks. Each is checked by a test or a compiler.
const BLOCKS: [&str; 11] =
    ["console", "sh", "text", "toml", "rust", "js", "ts", "python", "wit", "json", "sql"];

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
    line: usize,
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = fs::read_dir(source("docs"))
        .expect("docs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    pages.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(source));
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    pages
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).expect("a page");
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(language) => {
                open = true;
                blocks.push(Block {
                    language: language.to_owned(),
                    text: String::new(),
                    line: index + 1,
                });
            }
            None if open => {
                let block = blocks.last_mut().expect("an open block");
                block.text += line;
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// A command of a page, the output that the page shows, and its line.
struct Said {
    command: String,
    prints: Vec<String>,
    line: usize,
}

fn session(blocks: &[Block]) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    for block in blocks.iter().filter(|block| block.language == "console") {
        for (index, line) in block.text.lines().enumerate() {
            match (line.strip_prefix("$ "), said.last_mut()) {
                (Some(command), _) => {
                    said.push(Said {
                        command: command.to_owned(),
                        prints: Vec::new(),
                        line: block.line + 1 + index,
                    });
                }
                (None, Some(last)) => last.prints.push(line.to_owned()),
                (None, None) => panic!("line {}: a session begins with a command", block.line),
            }
        }
    }
    said
}

/// Creates a folder that looks like the root of the tree, and in which commands may write.
/// `wakeful` in it is this build's.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    // If this is root, a session starts PostgreSQL as another user, who must get in.
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), mode).expect("a mode");
    for entry in fs::read_dir(source("")).expect("the tree") {
        let entry = entry.expect("an entry");
        if entry.file_name() != "target" {
            symlink(
                fs::canonicalize(entry.path()).expect("a path"),
                folder.path().join(entry.file_name()),
            )
            .expect("a link");
        }
    }
    let built = folder.path().join("target/debug");
    fs::create_dir_all(&built).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_wakeful"), built.join("wakeful")).expect("a link");
    folder
}

/// Runs the commands one after the other in one shell. Returns what each printed, output and errors
/// in order. A command that does not end, such as a server, is ended with all of them: its block
/// must be one of `sh`.
fn run(said: &[Said], folder: &Path) -> Vec<String> {
    const MARK: &str = "@@ next @@";
    let script: String =
        said.iter().map(|said| format!("{}\necho '{MARK}'\n", said.command)).collect();
    let path = format!(
        "{}:{}",
        folder.join("target/debug").display(),
        std::env::var("PATH").expect("a path")
    );
    let output = Command::new("timeout")
        .args(["3000", "bash", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("WAKEFUL_GUEST")
        .stdin(Stdio::null())
        .output()
        .expect("bash starts");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    printed.split(&format!("{MARK}\n")).take(said.len()).map(str::to_owned).collect()
}

/// Replaces instants, which differ between two runs, by a fixed word.
fn without_instants(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("20") {
        let (before, from) = rest.split_at(at);
        out += before;
        let length = from
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || b"-T:.Z".contains(byte))
            .count();
        let (instant, after) = from.split_at(length);
        if instant.len() >= 20 && instant.ends_with('Z') && instant.as_bytes()[10] == b'T' {
            out += "<instant>";
            // Padding depends on the length of the instant.
            rest = after.trim_start_matches(' ');
            out += if rest.len() < after.len() { " " } else { "" };
        } else {
            out += &from[..2];
            rest = &from[2..];
        }
    }
    (out + rest).trim_end().to_owned()
}

/// Whether a page shows what was printed. `..` at the end of a line means any rest of the line, and
/// a line `..` any number of lines.
fn agrees(says: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = says.split_first() else { return printed.is_empty() };
    if first.trim() == ".." {
        return (0..=printed.len()).any(|skipped| agrees(rest, &printed[skipped..]));
    }
    let Some((line, others)) = printed.split_first() else { return false };
    let is_equal = first == line
        || first.strip_suffix("..").is_some_and(|begins| line.starts_with(begins.trim_end()));
    is_equal && agrees(rest, others)
}

fn lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = lines.map(without_instants).collect();
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    all
}

#[test]
fn what_a_page_shows_is_what_is_printed() {
    let mut sessions = 0;
    for page in pages() {
        let said = session(&blocks(&page));
        if said.is_empty() {
            continue;
        }
        sessions += 1;
        let folder = place();
        for (said, printed) in said.iter().zip(run(&said, folder.path())) {
            let (says, prints) =
                (lines(said.prints.iter().map(String::as_str)), lines(printed.lines()));
            assert!(
                agrees(&says, &prints),
                "{}:{}: `{}` printed\n{}\nand the page says\n{}",
                page.display(),
                said.line,
                said.command,
                prints.join("\n"),
                says.join("\n"),
            );
        }
    }
    assert!(sessions >= 2, "README.md and docs/fixtures.md have sessions");
}

#[test]
fn every_block_is_of_a_kind_that_a_test_or_a_compiler_checks() {
    for page in pages() {
        for block in blocks(&page) {
            let is_known = BLOCKS.contains(&block.language.as_str());
            assert!(
                is_known,
                "{}:{}: ```{} is none of {BLOCKS:?}",
                page.display(),
                block.line,
                block.language
            );
        }
    }
}

/// The words of a command line. Quotes join words; text after a `#` or after three spaces is a
/// remark.
fn words(line: &str) -> Vec<String> {
    let line = line.split("   ").next().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote, mut open) = (String::new(), None, false);
    for letter in line.chars().chain([' ']) {
        match (quote, letter) {
            (Some(end), letter) if letter == end => quote = None,
            (None, '"' | '\'') => (quote, open) = (Some(letter), true),
            (None, ' ') if open => {
                words.push(std::mem::take(&mut word));
                open = false;
            }
            (None, ' ') => {}
            // A remark or a redirection.
            (None, '#' | '<' | '>' | '|') if !open => break,
            (_, letter) => {
                word.push(letter);
                open = true;
            }
        }
    }
    words
}

/// The words without the variables that a line sets for its program.
fn called(mut words: Vec<String>) -> Vec<String> {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let set = words.iter().take_while(|word| word.split_once('=').is_some_and(|(n, _)| is_name(n)));
    let set = set.count();
    words.drain(..set);
    words
}

/// The commands that a page shows: lines of `sh` blocks, and the examples in the help of each
/// command. Help may wrap an example, so the lines that follow an example belong to it.
fn typed(page: &Path) -> Vec<(usize, String)> {
    let mut typed: Vec<(usize, String)> = Vec::new();
    for block in blocks(page) {
        let mut goes_on = false;
        for (index, line) in
            block.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
        {
            let begins = block.language == "sh"
                || block.language == "text" && line.starts_with("  wakeful ");
            if begins {
                typed.push((block.line + 1 + index, line.trim().to_owned()));
            } else if let Some((_, last)) = typed.last_mut().filter(|_| goes_on) {
                *last += &format!(" {}", line.trim());
            }
            goes_on = block.language == "text" && (begins || goes_on);
        }
    }
    typed
}

#[test]
fn every_command_on_a_page_is_understood() {
    let mut understood = 0;
    for page in pages() {
        for (number, line) in typed(&page) {
            let words = called(words(&line));
            let place = format!("{}:{number}: `{line}`", page.display());
            match words.first().map(String::as_str) {
                Some("wakeful") => {
                    wakeful::commands::understands(&words)
                        .unwrap_or_else(|why| panic!("{place}: {why}"));
                    understood += 1;
                }
                // The tests of xtask check these.
                Some("cargo") => {}
                Some(other) if OTHERS.contains(&other) => {}
                _ => panic!(
                    "{place}: no test knows this program; make it a session, or add the program \
                     to OTHERS"
                ),
            }
        }
    }
    assert!(understood > 50, "the help has examples: {understood}");
}

#[test]
fn sessions_are_compared_line_by_line() {
    let all = |text: &str| lines(text.lines());
    assert!(
        agrees(&all("a\n..\nd"), &all("a\nb\nc\nd"))
            && agrees(&all("a .."), &all("a b"))
            && agrees(&all("..\nc"), &all("c\n"))
    );
    for (says, printed) in [("a", "a\nb"), ("a\nb", "a"), ("a ..", "b"), ("..\nd", "a")] {
        assert!(!agrees(&all(says), &all(printed)), "{says:?} {printed:?}");
    }
    assert_eq!(without_instants("1  2026-05-27T09:00:00Z      x 2026"), "1  <instant> x 2026");
    assert_eq!(
        words("wakeful send prompt \"Is it out?\"         # a remark"),
        ["wakeful", "send", "prompt", "Is it out?"]
    );
    assert_eq!(words("wakeful status --json # a remark"), ["wakeful", "status", "--json"]);
    assert_eq!(called(words("A=1 B_C='2 3' npm run D=4")), ["npm", "run", "D=4"]);
}
