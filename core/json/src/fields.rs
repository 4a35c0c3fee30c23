//! Reads the fields of a struct: finds them by name in one table, then reads them in the order of
//! the type.

use alloc::{format, vec, vec::Vec};

use super::{
    Readable, Value,
    part::cut,
    reader::{Entries, begins},
    strict::unknown_field,
};

/// The names of a struct's fields.
pub struct Shape {
    /// The names in the order of the type, separated by commas. One text takes less room in a guest
    /// than a table of texts.
    pub names: &'static str,
    /// The number of names.
    pub count: usize,
    /// Aliases, each with the place of its field.
    pub also: &'static [(&'static str, usize)],
    /// Whether an unknown member is an error.
    pub closed: bool,
}

impl Shape {
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.names.split(',').take(self.count).collect()
    }

    fn name(&self, place: usize) -> &'static str {
        self.names.split(',').nth(place).unwrap_or_default()
    }

    /// The place of a name. Members usually come in the order of the type, so the search starts at
    /// the name after the last one found.
    fn place(&self, key: &str, next: &mut Next) -> Option<usize> {
        let ahead = cut(self.names, next.at..).split(',').zip(next.place..self.count);
        let behind = self.names.split(',').zip(0..next.place);
        let (found, place) = ahead.chain(behind).find(|(name, _)| *name == key)?;
        *next = Next {
            // No comma follows the last name.
            at: (begins(self.names, found) + found.len() + 1).min(self.names.len()),
            place: place + 1,
        };
        Some(place)
    }
}

/// The start of the next search: the byte in the names, and the place of that name.
struct Next {
    at: usize,
    place: usize,
}

impl<'a> Value<'a> {
    /// The fields of a struct. Only an object is read as a struct; an array is an error.
    #[must_use]
    pub fn fields(&self, shape: &'static Shape) -> Fields<'_> {
        self.fields_of(shape, false)
    }

    /// The fields of a struct, or of the tag before it: then the struct says what is not known.
    #[inline(never)]
    fn fields_of(&self, shape: &'static Shape, is_tag: bool) -> Fields<'_> {
        let entries = self.members("an object");
        let mut slots = vec![None; shape.count];
        let mut next = Next { at: 0, place: 0 };
        for (index, (key, _)) in entries.members.iter().enumerate() {
            let place = shape.place(key, &mut next).or_else(|| {
                shape.also.iter().find(|(name, _)| name == key).map(|(_, place)| *place)
            });
            if place.is_some() || !is_tag && !shape.closed {
                entries.met(index, shape, place.is_some());
            }
            match place {
                // The first of two equal fields is read; the second is an error anyway.
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
                None if shape.closed => {
                    entries.key(index).is_not(unknown_field(key, &[shape]));
                }
                None => {}
            }
        }
        Fields { entries, shape, slots, read: 0 }
    }

    /// Reads the tag of an object: the place of its name, and the value to read the rest from.
    #[must_use]
    #[inline(never)]
    pub fn tagged(
        &self,
        tag: &'static Shape,
        names: &'static [&'static str],
    ) -> (usize, Value<'a>) {
        let mut fields = self.fields_of(tag, true);
        let known = match fields.advance() {
            Some(name) => name.known_name(names, &[]),
            None => {
                fields.absent(false);
                None
            }
        };
        // Of an unknown variant nothing is read, so that the tag is the only error.
        known.map_or_else(|| (0, self.blank()), |known| (known, *self))
    }
}

/// The fields of a struct, read in the order of the type.
pub struct Fields<'a> {
    entries: Entries<'a>,
    shape: &'static Shape,
    /// The index of each field's member; `None` if it is absent.
    slots: Vec<Option<usize>>,
    read: usize,
}

impl Fields<'_> {
    /// The value of the next field, if it is present.
    #[inline(never)]
    fn advance(&mut self) -> Option<Value<'_>> {
        let slot = self.slots[self.read];
        self.read += 1;
        slot.map(|index| self.entries.value(index))
    }

    /// The value of the next field. If it is absent and not optional, that is noted as an error.
    #[inline(never)]
    fn due(&mut self, optional: bool) -> Value<'_> {
        let slot = self.slots[self.read];
        self.read += 1;
        slot.map_or_else(|| self.absent(optional), |index| self.entries.value(index))
    }

    /// Notes that the last field is missing, unless it is optional.
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

    /// Reads the next field; absent is an error unless its type is optional.
    #[allow(clippy::should_implement_trait, reason = "each field may have another type")]
    #[inline(never)]
    pub fn next<T: Readable>(&mut self) -> T {
        T::read(&self.due(T::OPTIONAL))
    }

    /// Reads the next field, or takes the default of its type.
    #[inline(never)]
    pub fn next_or_default<T: Readable + Default>(&mut self) -> T {
        match self.advance() {
            Some(value) => T::read(&value),
            None => T::default(),
        }
    }

    /// Reads the next field, or calls `absent`.
    #[inline(never)]
    pub fn next_or_else<T: Readable>(&mut self, absent: fn() -> T) -> T {
        match self.advance() {
            Some(value) => T::read(&value),
            None => absent(),
        }
    }

    /// Reads the next field, or takes `absent`.
    #[inline(never)]
    pub fn next_or<T: Readable>(&mut self, absent: T) -> T {
        match self.advance() {
            Some(value) => T::read(&value),
            None => absent,
        }
    }
}
