//! What commands see of the host's environment.

use std::{collections::BTreeMap, ffi::OsString};

use super::Policy;

/// Variables that a command usually needs and that hold no secrets.
const USUAL: [&str; 8] = ["PATH", "HOME", "LANG", "TZ", "TERM", "USER", "LOGNAME", "SHELL"];
const USUAL_START: &str = "LC_";

/// Parts of the names of variables that hold secrets.
const OF_SECRETS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"];

impl Policy {
    /// The variables that the policy allows, and those that it sets. A variable whose name suggests
    /// a secret is allowed only if the policy has exactly that name.
    pub fn environment(
        &self,
        from: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<String, String> {
        let text = from.into_iter().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let mut all: BTreeMap<String, String> =
            text.filter(|(name, _)| self.lets_through(name)).collect();
        // Last, so that a value of the policy replaces that of the host.
        all.extend(self.environment.set.clone());
        all
    }

    fn lets_through(&self, name: &str) -> bool {
        let is_named = self.environment.allow.iter().any(|pattern| pattern.is(name));
        let is_matched = || self.environment.allow.iter().any(|pattern| pattern.matches(name));
        let is_secret = || OF_SECRETS.iter().any(|part| name.to_ascii_uppercase().contains(part));
        let is_usual = || USUAL.contains(&name) || name.starts_with(USUAL_START);
        is_named || ((is_usual() || is_matched()) && !is_secret())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_usual_or_allowed_is_let_through() {
        let policy = Policy::read(
            "[environment]\nallow = [\"CARGO_*\", \"GH_TOKEN\"]\nset = { CI = \"1\", LANG = \"C\" \
             }\n",
        )
        .expect("a policy");
        let host = [
            ("PATH", "/bin"),
            ("LANG", "de_DE"),
            ("LC_ALL", "C"),
            ("CARGO_HOME", "/c"),
            ("CARGO_REGISTRY_TOKEN", "t"),
            ("GH_TOKEN", "t"),
            ("GH_TOKEN_2", "t"),
            ("OPENAI_API_KEY", "k"),
            ("LC_SECRET", "s"),
            ("EDITOR", "vi"),
        ];
        let seen = policy.environment(host.map(|(name, value)| (name.into(), value.into())));
        let expected = [
            ("CARGO_HOME", "/c"),
            ("CI", "1"),
            ("GH_TOKEN", "t"),
            ("LANG", "C"),
            ("LC_ALL", "C"),
            ("PATH", "/bin"),
        ];
        assert_eq!(seen, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}
