//! Words of a command line that several commands read in the same way.

/// The options that are left without these, which name something.
///
/// # Errors
/// One sentence: one of them names nothing.
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
            .is_none_or(|name| name.is_empty() || name.starts_with('-'))
        {
            return Err(format!("`{option}` needs a name"));
        }
    }
    Ok(left)
}

/// Options that are numbers, of a command that takes these.
///
/// # Errors
/// One sentence: a word that the command does not take, or one that is not a number.
pub fn numbers<'a>(
    command: &str,
    known: &[&str],
    options: &[&'a str],
) -> Result<Vec<(&'a str, u64)>, String> {
    let mut words = options.iter().flat_map(|option| option.split('='));
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if !known.contains(&word) {
            return Err(format!("`{command}` does not take `{word}` here"));
        }
        let number = words.next().unwrap_or_default();
        found.push((
            word,
            number.parse().map_err(|_| format!("`{word}` needs a number, not `{number}`"))?,
        ));
    }
    Ok(found)
}
