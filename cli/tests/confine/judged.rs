//! Command lines that are refused before they run, and the texts of the refusals.

use super::{House, link};

const POLICY: &str = "[commands]\ndeny = [\"git push\", \"sudo\", \"rm\"]\n";

/// The refusal code of each line; `-` if it may run.
fn codes(house: &House, policy: &str, lines: &[&str]) -> Vec<String> {
    let confinement = house.confinement(policy);
    let workdir = house.path("work");
    let code = |line: &&str| {
        confinement
            .judge(line, &workdir)
            .map_or_else(|refusal| refusal.code().to_owned(), |()| "-".to_owned())
    };
    lines.iter().map(|line| format!("{}  {line}", code(line))).collect()
}

/// Checks that each line has this code.
#[track_caller]
fn all(house: &House, policy: &str, expected: &str, lines: &[&str]) {
    let expected: Vec<String> = lines.iter().map(|line| format!("{expected}  {line}")).collect();
    assert_eq!(codes(house, policy, lines), expected);
}

#[test]
fn a_denied_command_is_found_wherever_it_stands() {
    all(
        &House::new(),
        POLICY,
        "command_denied",
        &[
            "git push",
            "git push origin main",
            "git -C . push",
            "git -c a=b --no-pager push",
            "/usr/bin/git push",
            "true; git push",
            "true && git push || true",
            "true | sudo tee x",
            "sleep 1 & rm x",
            "true\nrm x",
            "(cd src && rm x)",
            "{ rm x; }",
            "if true; then rm x; fi",
            "for x in a b; do rm $x; done",
            "! rm x",
            "A=1 B=2 rm x",
            "echo $(rm x)",
            "echo \"a $(rm x) b\"",
            "echo `rm x`",
            "cat <(rm x)",
            "cat <<E\n$(rm x)\nE",
            "'rm' x",
            "\"r\"m x",
            "r\\m x",
            "r''m x",
            "sh -c 'rm x'",
            "bash -lc \"true; git push\"",
            "sh -c 'sh -c \"rm x\"'",
            "sh <<E\nrm x\nE",
            "cat <<E | sh\nrm x\nE",
            "f() { rm x; }; f",
            "function f { rm x; }; f",
            "case x in x) rm x;; esac",
            "coproc rm x",
            "eval 'rm x'",
            "eval r\"m x\"",
            "trap 'rm x' EXIT",
            "env X=1 rm x",
            "env -i -u HOME rm x",
            "nohup nice -n 5 timeout 10 rm x",
            "timeout 5 sh -c 'git push'",
            "find . -name '*.o' -exec rm {} +",
            "ls | xargs -n 1 rm",
            "xargs sh -c 'rm x'",
            "command rm x",
            "exec rm x",
            "sudo -u someone true",
        ],
    );
}

#[test]
fn what_only_looks_like_a_denied_command_may_run() {
    all(
        &House::new(),
        POLICY,
        "-",
        &[
            "git status",
            "git commit -m push",
            "git commit -m \"$MESSAGE\"",
            "git checkout push",
            "git -C \"$DIR\" status",
            "echo rm x",
            "echo 'git push'",
            "echo 'a; rm x'",
            "cargo test -- rm",
            "grep -r sudo .",
            "ls # rm x",
            "cat <<'E'\nrm x\n$(rm x)\nE",
            "program_rm x",
            "sh -c 'echo rm'",
            "git commit -m \"$(cat <<'EOF'\nIt's (nearly) done: rm is gone\n\nrm x\nEOF\n)\"",
            "for x in a b; do echo $x; done",
            "x=$((1 + 2)); echo $x ${x:-y}",
            "[ -f x ] && test -n \"$y\"",
            "awk -F/ '{print $2}' src/main.rs",
            "sed -e 's/../x/' -e '/users/d' src/main.rs",
            "curl https://example.org/etc/x",
            "timeout 5 cargo test $NAME",
            "bash script.sh",
        ],
    );
}

#[test]
fn what_cannot_be_told_is_refused() {
    let house = House::new();
    let lines = [
        "$X y",
        "\"$X\" y",
        "$(echo rm) x",
        "r? x",
        "{rm,x}",
        "git $X",
        "env $X",
        "xargs $X",
        "echo x | sh",
        "echo 'open",
        "eval \"$X\"",
        "a ${x:-$(rm y)}",
    ];
    all(&house, POLICY, "command_unreadable", &lines);
    let refusal =
        house.confinement(POLICY).judge("$X y", &house.path("work")).expect_err("refused");
    assert_eq!(
        refusal.to_string(),
        "the command line is not run: the shell expands the name of the program, `$X`, so the \
         policy cannot be applied to it; write out the program and its arguments"
    );
}

#[test]
fn with_a_list_of_what_is_allowed_nothing_else_runs() {
    let house = House::new();
    let policy =
        "[commands]\nallow = [\"git status\", \"cargo\", \"sh\"]\ndeny = [\"cargo publish\"]\n";
    all(
        &house,
        policy,
        "-",
        &[
            "git status",
            "git status -s",
            "cargo test; cd src && cargo build",
            "echo a > x",
            "sh -c 'cargo test'",
            "A=1 cargo test",
        ],
    );
    all(
        &house,
        policy,
        "command_not_allowed",
        &[
            "git push",
            "git -C . status",
            "git",
            "ls",
            "cargo test | tee x",
            "sh -c 'ls'",
            "echo $(ls)",
            "env cargo test",
        ],
    );
    all(&house, policy, "command_denied", &["cargo publish", "cargo --locked publish"]);
    let refusal =
        house.confinement(policy).judge("make all", &house.path("work")).expect_err("refused");
    assert!(refusal.to_string().contains("allows only `git status`, `cargo`, `sh`"), "{refusal}");
}

#[test]
fn paths_outside_the_workspace_are_refused_by_name() {
    let house = House::new();
    link(house.path(".ssh"), &house.path("work/link"));
    let outside = house.path(".ssh/id_ed25519");
    let outside = outside.to_str().expect("text");
    let lines = [
        format!("cat {outside}"),
        format!("cat '{outside}'"),
        format!("cat < {outside}"),
        format!("echo x > {outside}"),
        format!("echo x >> {outside}"),
        format!("true; cat {outside} | wc"),
        format!("program --key={outside}"),
        format!("cc -I{outside} x.c"),
        format!("X={outside} program"),
        format!("sh -c 'cat {outside}'"),
        format!("echo $(cat {outside})"),
        "cat ~/.ssh/id_ed25519".to_owned(),
        "cat $HOME/.ssh/id_ed25519".to_owned(),
        "cat \"${HOME}/.ssh/\"*".to_owned(),
        "ls ~".to_owned(),
        "cat ../.ssh/id_ed25519".to_owned(),
        "cat src/../../.ssh/id_ed25519".to_owned(),
        "cd src && cat ../../.ssh/id_ed25519".to_owned(),
        "cd ..".to_owned(),
        "cat link/id_ed25519".to_owned(),
        "echo x > link/new".to_owned(),
        "rm -r /var/*".to_owned(),
        "cat /var/log/x".to_owned(),
        "echo x > /tmp/x".to_owned(),
    ];
    all(&house, "", "path_outside_workspace", &lines.each_ref().map(String::as_str));
    let refusal = house
        .confinement("")
        .judge("cat ../.ssh/id_ed25519", &house.path("work"))
        .expect_err("refused");
    assert!(
        refusal.to_string().contains("`../.ssh/id_ed25519` is outside the workspace"),
        "{refusal}"
    );
    assert!(refusal.to_string().contains("ask the operator"), "{refusal}");
}

#[test]
fn paths_that_are_open_are_not_refused() {
    let house = House::new();
    let inside = house.path("work/src/main.rs");
    let scratch = house.path("scratch/x");
    let lines = [
        format!("cat {}", inside.display()),
        format!("echo x > {}", scratch.display()),
        "cd src && cat ../src/main.rs".to_owned(),
        "cat /etc/passwd /usr/bin/env ~/.gitconfig".to_owned(),
        "program > /dev/null 2>&1 < /dev/null".to_owned(),
        "cat /dev/stdin > /dev/stderr".to_owned(),
        "echo x > new && mkdir -p a/b && echo y >> a/b/c".to_owned(),
        "cut -d / -f 2 src/main.rs".to_owned(),
        "echo x > \"$TMPDIR/x\"".to_owned(),
    ];
    all(&house, "", "-", &lines.each_ref().map(String::as_str));
    all(&house, "", "path_not_writable", &["echo x > /etc/motd", "echo x >> ~/.gitconfig"]);
    let opened =
        format!("[files]\nread = [\"~/.ssh\"]\nwrite = [\"{}\"]\n", house.path(".cache").display());
    std::fs::create_dir(house.path(".cache")).expect("a folder");
    all(&house, &opened, "-", &["cat ~/.ssh/id_ed25519", "echo x > ~/.cache/x"]);
}

#[test]
fn the_default_policy_denies_the_rights_of_others() {
    all(
        &House::new(),
        "",
        "command_denied",
        &["sudo true", "su -c true", "true && doas true", "reboot"],
    );
}
