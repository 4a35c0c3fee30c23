//! The program `lab`.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn lab(args: &[&str]) -> (i32, String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let ran = Command::new(env!("CARGO_BIN_EXE_lab")).args(args).current_dir(root).output();
    let Output { status, stdout, stderr } = ran.expect("lab starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit code"), text(stdout), text(stderr))
}

#[test]
fn vectors_are_counted_per_operation_and_a_file_without_any_is_refused() {
    let (code, out, err) = lab(&["vectors", "tests/conformance/closure.jsonl.gz"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("closure ") && out.contains(" 300 "), "{out}");
    let folder = tempfile::tempdir().expect("a folder");
    for (text, says) in [
        (&b"\n"[..], "error: the files contain no vectors\n"),
        (b"\n\n\xf8\n", "line 3, byte 1: 0xf8"),
    ] {
        let file = folder.path().join("vectors.jsonl");
        fs::write(&file, text).expect("a file");
        let (code, out, err) = lab(&["vectors", file.to_str().expect("text")]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(says), "{err}");
    }
}

#[test]
fn a_line_per_case_is_printed_or_all_go_into_a_bundle() {
    // Not the whole folder: the odd JSON in it is not for every reader.
    let cases = ["tests/fixtures/stories/budget.toml", "tests/fixtures/stories/heartbeat.json"];
    let (code, out, err) = lab(&["trace", cases[0], cases[1]]);
    assert_eq!((code, err.as_str()), (0, ""));
    let first: serde_json::Value =
        serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["case"], "budget");
    assert_eq!(first["steps"][0]["entries"][0]["record"]["control"], "genesis");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bundle.json");
    let (code, printed, _) =
        lab(&["trace", cases[0], cases[1], "--bundle", file.to_str().expect("text")]);
    assert_eq!((code, printed.as_str()), (0, ""));
    let text = fs::read_to_string(file).expect("the bundle");
    let bundle: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(bundle["cases"].as_array().map(Vec::len), Some(out.lines().count()));
}
