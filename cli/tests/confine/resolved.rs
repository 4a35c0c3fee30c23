//! The folder in which a command runs.

use std::path::Path;

use wakeful_agent::confine::{Refusal, Workspace};

use super::{House, link};

#[test]
fn a_folder_inside_is_found_however_it_is_named() {
    let house = House::new();
    let workspace = house.workspace();
    let root = house.path("work");
    assert_eq!(workspace.resolve(None), Ok(root.clone()));
    link(root.join("src"), &root.join("link"));
    let absolute = root.join("src");
    for name in [
        "src",
        "./src",
        "src/",
        "src/../src",
        "link",
        "../work/src",
        absolute.to_str().expect("text"),
    ] {
        assert_eq!(workspace.resolve(Some(name)), Ok(root.join("src")), "{name}");
    }
}

#[test]
fn a_folder_outside_is_refused_however_it_is_named() {
    let house = House::new();
    let workspace = house.workspace();
    link(house.path(".ssh"), &house.path("work/link"));
    link("../..", &house.path("work/src/up"));
    house.write("workshop/x", "a neighbour whose name begins in the same way");
    for name in [
        "..",
        "../.ssh",
        "src/../../.ssh",
        "/",
        "/etc",
        "link",
        "src/up",
        "src/up/.ssh",
        "../workshop",
        "../nowhere",
        "/no/such/place",
    ] {
        let refusal = workspace.resolve(Some(name)).expect_err(name);
        assert_eq!(refusal.code(), "execution_root_violation", "{name}");
        assert!(
            refusal.to_string().contains(&format!("`{name}`"))
                && refusal.to_string().contains("name a folder inside"),
            "{refusal}"
        );
    }
}

#[test]
fn what_is_no_folder_is_told_so() {
    let house = House::new();
    for name in ["nowhere", "src/main.rs", "src/main.rs/x"] {
        assert_eq!(
            house.workspace().resolve(Some(name)),
            Err(Refusal::NoFolder { asked: name.to_owned() })
        );
    }
    assert!(Workspace::new(Path::new("/no/such/place")).is_err());
    assert!(Workspace::new(&house.path(".profile")).is_err());
}
