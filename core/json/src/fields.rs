//! The fields of a struct: found by their names in one table, and read one after the other in the
//! order of the type.

use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use super::{
    Readable, Value,
    reader::{Entries, begins},
};

/// The names of a struct's fields.
pub struct Shape {
    /// The names of the fields in their order, with a comma between them: one text takes less room
    /// than a table of them.
    pub names: &'static str,
    /// How many there are.
    pub count: usize,
    /// Other names, and the places of the fields that they stand for.
    pub also: &'static [(&'static str, usize)],
    /// Whether a member that is no field is wrong.
    pub closed: bool,
}

impl Shape {
    fn names(&self) -> Vec<&'static str> {
        self.names.split(',').take(self.count).collect()
    }

    fn name(&self, place: usize) -> &'static str {
        self.names.split(',').nth(place).unwrap_or_default()
    }

    /// The place of a name, which is most often one of those that come next.
    fn place(&self, key: &str, next: &mut Next) -> Option<usize> {
        let ahead = self.names[next.at..].split(',').zip(next.place..self.count);
        let behind = self.names.split(',').zip(0..next.place);
        let (found, place) = ahead.chain(behind).find(|(name, _)| *name == key)?;
        *next = Next {
            at: (begins(self.names, found) + found.len() + 1).min(self.names.len()),
            place: place + 1,
        };
        Some(place)
    }
}

/// The name of a shape that is due: its first byte, and its place.
struct Next {
    at: usize,
    place: usize,
}

/// Names that were expected, in words.
pub(super) fn one_of(names: &[&str]) -> String {
    match names {
        [] => "there are no fields".to_string(),
        [one] => format!("expected `{one}`"),
        [one, other] => format!("expected `{one}` or `{other}`"),
        names => format!("expected one of `{}`", names.join("`, `")),
    }
}

impl<'a> Value<'a> {
    /// The fields of a struct. A struct is an object; no array can stand for it.
    #[must_use]
    #[inline(never)]
    pub fn fields(&self, shape: &'static Shape) -> Fields<'_> {
        let entries = self.members("an object");
        let mut slots = vec![None; shape.count];
        let mut next = Next { at: 0, place: 0 };
        for (index, (key, _)) in entries.members.iter().enumerate() {
            let place = shape.place(key, &mut next).or_else(|| {
                shape.also.iter().find(|(name, _)| name == key).map(|(_, place)| *place)
            });
            match place {
                Some(place) if slots[place].is_none() => {
                    slots[place] = Some(index);
                }
                Some(place) => {
                    self.note(
                        format!("duplicate field `{}`", shape.name(place)),
                        self.at,
                        entries.key_at(index),
                    );
                }
                None if shape.closed => entries
                    .key(index)
                    .is_not(format!("unknown field `{key}`, {}", one_of(&shape.names()))),
                None => {}
            }
        }
        Fields { entries, shape, slots, read: 0 }
    }

    /// Of an object with a tag the place of its name, and what the rest is read from.
    #[must_use]
    #[inline(never)]
    pub fn tagged(
        &self,
        tag: &'static Shape,
        names: &'static [&'static str],
    ) -> (usize, Value<'a>) {
        let mut fields = self.fields(tag);
        let known = match fields.advance() {
            Some(name) => name.known_name(names, &[]),
            None => {
                fields.absent(false);
                None
            }
        };
        known.map_or_else(|| (0, self.blank()), |known| (known, *self))
    }
}

/// The fields of a struct, which are read in the order of the type.
pub struct Fields<'a> {
    entries: Entries<'a>,
    shape: &'static Shape,
    /// For each field the place of its member.
    slots: Vec<Option<usize>>,
    read: usize,
}

impl Fields<'_> {
    /// The member of the next field, if it is there.
    #[inline(never)]
    fn advance(&mut self) -> Option<Value<'_>> {
        let slot = self.slots[self.read];
        self.read += 1;
        slot.map(|index| self.entries.value(index))
    }

    /// What the next field is read from; where it is not there and must be, that is noted.
    #[inline(never)]
    fn due(&mut self, optional: bool) -> Value<'_> {
        let slot = self.slots[self.read];
        self.read += 1;
        slot.map_or_else(|| self.absent(optional), |index| self.entries.value(index))
    }

    /// The field that was due is not there.
    #[inline(never)]
    fn absent(&self, optional: bool) -> Value<'_> {
        let object = self.entries.object;
        if !optional {
            object.note(
                format!("missing field `{}`", self.shape.name(self.read - 1)),
                object.at,
                object.ends(),
            );
        }
        object.blank()
    }

    /// The next field; what is not optional must be there.
    #[allow(clippy::should_implement_trait, reason = "each field has a type of its own")]
    #[inline(never)]
    pub fn next<T: Readable>(&mut self) -> T {
        T::read(&self.due(T::OPTIONAL))
    }

    /// The next field, or the default of its type.
    #[inline(never)]
    pub fn next_or_default<T: Readable + Default>(&mut self) -> T {
        match self.advance() {
            Some(value) => T::read(&value),
            None => T::default(),
        }
    }

    /// The next field, or what this gives.
    #[inline(never)]
    pub fn next_or_else<T: Readable>(&mut self, absent: fn() -> T) -> T {
        match self.advance() {
            Some(value) => T::read(&value),
            None => absent(),
        }
    }

    /// The next field, or this.
    #[inline(never)]
    pub fn next_or<T: Readable>(&mut self, absent: T) -> T {
        match self.advance() {
            Some(value) => T::read(&value),
            None => absent,
        }
    }
}
