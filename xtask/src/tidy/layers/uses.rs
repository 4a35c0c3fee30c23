//! What one file uses: its imports, and the paths in its code and its macros.
//!
//! The text is read as tokens. They have no comments and strings, and the body of a macro looks
//! like other code.

use std::{iter::Peekable, slice::Iter, str::FromStr};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The segments of a path, or of a module below the root of the crate.
pub(super) type Path = Vec<String>;

/// One name that a `use` brings into a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The module of the `use`.
    pub(super) scope: Path,
    pub(super) path: Path,
    /// The name in that module; `*` for all names.
    pub(super) name: String,
    /// From 1.
    pub(super) line: usize,
}

/// A path of at least two segments outside `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The module of the path.
    pub(super) scope: Path,
    pub(super) path: Path,
    /// From 1.
    pub(super) line: usize,
}

/// All that one file uses outside `#[cfg(test)]`.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub(super) imports: Vec<Import>,
    pub(super) mentions: Vec<Mention>,
    /// The modules that the file declares, in its order, with their own file or inline.
    pub(super) modules: Vec<Path>,
    /// The names that the file defines in each module.
    pub(super) items: Vec<(Path, String)>,
}

/// Reads the text of a file that is the module `scope`.
pub(super) fn read(text: &str, scope: &[String]) -> Result<Uses, String> {
    let tokens =
        TokenStream::from_str(text).map_err(|why| format!("it cannot be read as Rust: {why}"))?;
    let mut uses = Uses::default();
    uses.scan(&tokens.into_iter().collect::<Vec<_>>(), scope, true);
    Ok(uses)
}

impl Uses {
    /// `is_module` says whether the tokens are the items of a module, not the inside of an item.
    fn scan(&mut self, tokens: &[TokenTree], scope: &[String], is_module: bool) {
        let mut at = 0;
        while at < tokens.len() {
            at = self.scan_one(tokens, at, scope, is_module);
        }
    }

    /// Reads the item at a token. Returns the place of the next one.
    fn scan_one(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        scope: &[String],
        is_module: bool,
    ) -> usize {
        match &tokens[at] {
            TokenTree::Punct(mark) if mark.as_char() == '#' && is_for_tests(tokens.get(at + 1)) => {
                end_of_item(tokens, at + 2)
            }
            TokenTree::Group(group) => {
                self.scan(&inside(group), scope, false);
                at + 1
            }
            TokenTree::Ident(_) => self.scan_word(tokens, at, scope, is_module),
            _ => at + 1,
        }
    }

    fn scan_word(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        scope: &[String],
        is_module: bool,
    ) -> usize {
        let next = tokens.get(at + 1);
        match word(tokens.get(at)).as_deref() {
            // `pub(in crate::plane)` is a visibility, not a use.
            Some("pub") if matches!(next, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis) =>
            {
                return at + 2;
            }
            // `impl Trait + use<'a>` is not an import.
            Some("use") if !is_mark(next, '<') => {
                let end = end_of_statement(tokens, at + 1);
                self.import(&mut tokens[at + 1..end].iter().peekable(), scope, &mut Vec::new());
                return end;
            }
            Some("mod") if is_module => {
                if let Some(name) = word(next) {
                    let module = [scope, &[name]].concat();
                    self.modules.push(module.clone());
                    if let Some(TokenTree::Group(items)) = tokens.get(at + 2) {
                        self.scan(&inside(items), &module, true);
                    }
                    return at + 3;
                }
            }
            Some("struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static")
                if is_module =>
            {
                self.items.extend(word(next).map(|name| (scope.to_vec(), name)));
            }
            _ => {}
        }
        self.mention(tokens, at, scope)
    }

    /// A path that begins here, if it is one.
    fn mention(&mut self, tokens: &[TokenTree], at: usize, scope: &[String]) -> usize {
        let mut path: Path = word(tokens.get(at)).into_iter().collect();
        let (mut end, mut last) = (at + 1, at);
        while is_mark(tokens.get(end), ':') && is_mark(tokens.get(end + 1), ':') {
            let Some(name) = word(tokens.get(end + 2)) else { break };
            path.push(name);
            last = end + 2;
            end += 3;
        }
        // `::std::fmt` and `Vec::<T>::new` are not paths of a module here.
        let goes_on =
            at >= 2 && is_mark(tokens.get(at - 1), ':') && is_mark(tokens.get(at - 2), ':');
        if path.len() > 1 && !goes_on {
            self.mentions.push(Mention { scope: scope.to_vec(), path, line: line(&tokens[last]) });
        }
        end
    }

    /// The leaves of a tree of imports with the prefix `before`.
    fn import(
        &mut self,
        tokens: &mut Peekable<Iter<'_, TokenTree>>,
        scope: &[String],
        before: &mut Path,
    ) {
        let stem = before.len();
        let mut line_of_last = 0;
        let mut name = None;
        let mut is_open = false;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(branches) => {
                    let branches = inside(branches);
                    let mut branches = branches.iter().peekable();
                    while branches.peek().is_some() {
                        self.import(&mut branches, scope, before);
                    }
                    is_open = false;
                }
                TokenTree::Ident(part) if part == "as" => name = word(tokens.next()),
                TokenTree::Ident(_) => {
                    let part = word(Some(token)).unwrap_or_default();
                    line_of_last = line(token);
                    is_open = true;
                    // `a::{self, b}` brings `a` itself.
                    if part != "self" || before.is_empty() {
                        before.push(part);
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    (line_of_last, name, is_open) = (line(token), Some("*".to_owned()), true);
                }
                TokenTree::Punct(mark) if mark.as_char() == ',' => break,
                // The colons between segments, and the `$` of `$crate`.
                _ => {}
            }
        }
        if is_open {
            let name = name.or_else(|| before.last().cloned()).unwrap_or_default();
            self.imports.push(Import {
                scope: scope.to_vec(),
                path: before.clone(),
                name,
                line: line_of_last,
            });
        }
        before.truncate(stem);
    }
}

/// Whether an attribute is `cfg(test)`, which other builds leave out.
pub(in crate::tidy) fn is_for_tests(attribute: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(attribute)) = attribute else { return false };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// The end of the item or field that begins here: after its block, its semicolon or its comma.
pub(in crate::tidy) fn end_of_item(tokens: &[TokenTree], mut at: usize) -> usize {
    let mut has_no_block = false;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            // In these a block is a part of what a semicolon ends.
            TokenTree::Ident(word)
                if ["use", "const", "static", "let"].iter().any(|with| word == with) =>
            {
                has_no_block = word != "const" || word_after_is_name(tokens, at);
            }
            TokenTree::Group(block) if block.delimiter() == Delimiter::Brace && !has_no_block => {
                return at;
            }
            TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ',') => return at,
            _ => {}
        }
    }
    at
}

/// `const A: u8` and not `const fn a()`.
fn word_after_is_name(tokens: &[TokenTree], at: usize) -> bool {
    !matches!(word(tokens.get(at)).as_deref(), Some("fn" | "unsafe" | "extern" | "async"))
}

fn end_of_statement(tokens: &[TokenTree], from: usize) -> usize {
    (from..tokens.len()).find(|at| is_mark(tokens.get(*at), ';')).unwrap_or(tokens.len())
}

fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(word)) => Some(word.to_string().trim_start_matches("r#").to_owned()),
        _ => None,
    }
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == mark)
}

fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(text: &str) -> Vec<String> {
        let uses = read(text, &[]).expect("Rust");
        uses.imports
            .iter()
            .map(|one| format!("{}:{} as {}", one.line, one.path.join("::"), one.name))
            .collect()
    }

    fn mentions(text: &str) -> Vec<String> {
        let uses = read(text, &[]).expect("Rust");
        uses.mentions.iter().map(|one| format!("{}:{}", one.line, one.path.join("::"))).collect()
    }

    #[test]
    fn a_tree_of_imports_is_its_leaves() {
        let text = "pub(crate) use crate::{\n\
                    \x20   a::{self, b, c::*},\n\
                    \x20   d as e,\n\
                    };\n\
                    use super::f;\n\
                    fn g() { use self::h::I; }\n";
        let found = [
            "2:crate::a as a",
            "2:crate::a::b as b",
            "2:crate::a::c as *",
            "3:crate::d as e",
            "5:super::f as f",
            "6:self::h::I as I",
        ];
        assert_eq!(imports(text), found);
        assert_eq!(mentions(text), [""; 0]);
    }

    #[test]
    fn paths_are_found_in_code_and_macros_and_not_in_comments_and_strings() {
        let text = "// crate::no::A\n\
                    /// crate::no::B\n\
                    fn f() -> &'static str { \"crate::no::C\" }\n\
                    fn g(a: crate::yes::D) { m!(super::yes::e()); }\n\
                    macro_rules! m { ($x:expr) => { $crate::yes::F($x) } }\n\
                    pub(in crate::no) fn h() { ::std::process::exit(0) }\n";
        assert_eq!(mentions(text), ["4:crate::yes::D", "4:super::yes::e", "5:crate::yes::F"]);
    }

    #[test]
    fn what_only_tests_see_is_left_out() {
        let text = "#[cfg(test)]\n\
                    use crate::a::{b, c};\n\
                    #[cfg(test)]\n\
                    mod tests { use crate::d; }\n\
                    #[cfg(test)]\n\
                    #[allow(dead_code)]\n\
                    fn e() { crate::f::g() }\n\
                    #[cfg(test)]\n\
                    const H: [u8; 1] = [crate::i::J];\n\
                    #[cfg(feature = \"x\")]\n\
                    use crate::yes;\n\
                    #[cfg(test)]\n\
                    mod l;\n\
                    mod m;\n\
                    mod n { use super::o; }\n";
        assert_eq!(imports(text), ["11:crate::yes as yes", "15:super::o as o"]);
        assert_eq!(mentions(text), [""; 0]);
        let uses = read(text, &["r".to_owned()]).expect("Rust");
        assert_eq!(uses.modules, [["r", "m"], ["r", "n"]]);
        assert_eq!(uses.imports[1].scope, ["r", "n"]);
    }
}
