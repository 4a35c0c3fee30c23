//! Options that several commands read in the same way.

/// The options without those that name something.
///
/// # Errors One sentence, if one of them has no value.
pub fn unnamed<'a>(named: &[&str], options: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let mut left = Vec::new();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let (option, name) =
            word.split_once('=').map_or((*word, None), |(option, name)| (option, Some(name)));
        if !named.contains(&option) {
            left.push(*word);
        } else if name
            .or_else(|| words.next().copied())
            // A value that looks like an option means that the real value was forgotten.
            .is_none_or(|name| name.is_empty() || name.starts_with('-'))
        {
            return Err(format!("`{option}` needs a name"));
        }
    }
    Ok(left)
}

/// Reads options whose values are numbers. `known` are the options of the command.
///
/// # Errors One sentence, if the command does not know an option, or if its value is not a number.
pub fn numbers<'a>(
    command: &str,
    known: &[&str],
    options: &[&'a str],
) -> Result<Vec<(&'a str, u64)>, String> {
    // `--seed 7` and `--seed=7` read the same after this.
    let mut words = options.iter().flat_map(|option| option.split('='));
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if !known.contains(&word) {
            return Err(format!("`{command}` does not take `{word}` here"));
        }
        // A missing value becomes an empty text, which is not a number and so is an error below.
        let number = words.next().unwrap_or_default();
        found.push((
            word,
            number.parse().map_err(|_| format!("`{word}` needs a number, not `{number}`"))?,
        ));
    }
    Ok(found)
}
