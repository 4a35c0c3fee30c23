//! A state as a tree in which ids, instants and positions differ from text. A serde serializer
//! builds it, because it learns the names of the types.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser};

use wakeful_core::{
    id::{self, Seq},
    state::State,
    time::Timestamp,
};
use wakeful_json::{self as json, RawJson};

/// A part of a state.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// The id of something.
    Id(String),
    /// A position in the history.
    Seq(Seq),
    /// An instant.
    At(Timestamp),
    /// The digest of a history.
    Chain,
    /// Text that may contain ids.
    Text(String),
    /// A number, a boolean, the name of a field or variant, or null.
    Plain(String),
    /// Values in order.
    List(Vec<Self>),
    /// Keys with values, in order.
    Map(Vec<(Self, Self)>),
}

impl Node {
    fn plain(value: impl fmt::Display) -> Self {
        Self::Plain(value.to_string())
    }

    fn named(name: &'static str, value: Self) -> Self {
        Self::Map(Vec::from([(Self::plain(name), value)]))
    }
}

/// The tree of a state.
pub(super) fn build(state: &State) -> Node {
    // INVARIANT: every part of a state serializes, because snapshots are made so.
    state.serialize(Tree).unwrap_or(Node::Chain)
}

/// Why a value has no tree.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoTree(String);

impl ser::Error for NoTree {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

struct Tree;

/// The parts of a list, map or struct, and the enum variant to which they belong.
#[derive(Default)]
struct Parts {
    variant: Option<&'static str>,
    values: Vec<Node>,
    fields: Vec<(Node, Node)>,
    key: Option<Node>,
}

impl Parts {
    fn of_variant(variant: &'static str) -> Self {
        Self { variant: Some(variant), ..Self::default() }
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoTree> {
        self.values.push(value.serialize(Tree)?);
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), NoTree> {
        self.fields.push((Node::plain(name), value.serialize(Tree)?));
        Ok(())
    }

    fn in_variant(variant: Option<&'static str>, node: Node) -> Node {
        match variant {
            Some(variant) => Node::named(variant, node),
            None => node,
        }
    }

    fn list(self) -> Node {
        Self::in_variant(self.variant, Node::List(self.values))
    }

    fn map(self) -> Node {
        Self::in_variant(self.variant, Node::Map(self.fields))
    }
}

/// Methods for numbers, booleans and characters, which become their printed text.
macro_rules! printed {
    ($($method:ident($type:ty)),*) => {$(
        fn $method(self, value: $type) -> Result<Node, NoTree> {
            Ok(Node::plain(value))
        }
    )*};
}

impl Serializer for Tree {
    type Ok = Node;
    type Error = NoTree;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    printed! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32),
        serialize_u64(u64), serialize_f32(f32), serialize_f64(f64), serialize_char(char)
    }

    fn serialize_str(self, text: &str) -> Result<Node, NoTree> {
        Ok(Node::Text(text.into()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Node, NoTree> {
        Ok(Node::List(bytes.iter().map(Node::plain).collect()))
    }

    fn serialize_none(self) -> Result<Node, NoTree> {
        Ok(Node::plain("null"))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node, NoTree> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Node, NoTree> {
        Ok(Node::plain("null"))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Node, NoTree> {
        Ok(Node::plain("null"))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Node, NoTree> {
        Ok(Node::plain(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Node, NoTree> {
        let node = value.serialize(self)?;
        Ok(match (name, node) {
            ("Chain" | "Introduced" | "DeliveryKey" | "Day" | "CountedRuns", _) => Node::Chain,
            ("Seq", Node::Plain(number)) => {
                Node::Seq(Seq(number.parse().map_err(ser::Error::custom)?))
            }
            ("Timestamp", Node::Text(text)) => {
                Node::At(Timestamp::parse(&text).map_err(ser::Error::custom)?)
            }
            (name, Node::Text(text)) if id::KINDS.contains(&name) => Node::Id(text),
            // `RawJson` serializes as serde_json's struct of one field with the text.
            ("RawJson", Node::Map(fields)) => match fields.as_slice() {
                [(_, Node::Text(text))] => free(text)?,
                _ => Node::Map(fields),
            },
            (_, node) => node,
        })
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Node, NoTree> {
        Ok(Node::named(variant, value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts, NoTree> {
        Ok(Parts::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts, NoTree> {
        Ok(Parts::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts, NoTree> {
        Ok(Parts::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, NoTree> {
        Ok(Parts::of_variant(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts, NoTree> {
        Ok(Parts::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts, NoTree> {
        Ok(Parts::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts, NoTree> {
        Ok(Parts::of_variant(variant))
    }
}

/// Free JSON, which may contain ids too.
fn free(text: &str) -> Result<Node, NoTree> {
    let read = |why| ser::Error::custom(why);
    // The text is known to be JSON, so its first byte tells what it is.
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, RawJson> = json::read(text).map_err(read)?;
            let fields = fields
                .iter()
                .map(|(key, value)| Ok((Node::Text(key.clone()), free(value.as_str())?)));
            Node::Map(fields.collect::<Result<_, NoTree>>()?)
        }
        Some(b'[') => {
            let values: Vec<RawJson> = json::read(text).map_err(read)?;
            Node::List(
                values.iter().map(|value| free(value.as_str())).collect::<Result<_, NoTree>>()?,
            )
        }
        Some(b'"') => Node::Text(json::read(text).map_err(read)?),
        _ => Node::plain(text),
    })
}

macro_rules! lists {
    ($($shape:ident::$add:ident),*) => {$(
        impl ser::$shape for Parts {
            type Ok = Node;
            type Error = NoTree;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoTree> {
                self.value(value)
            }

            fn end(self) -> Result<Node, NoTree> {
                Ok(self.list())
            }
        }
    )*};
}

lists! {
    SerializeSeq::serialize_element, SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field, SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($shape:ident),*) => {$(
        impl ser::$shape for Parts {
            type Ok = Node;
            type Error = NoTree;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), NoTree> {
                self.field(name, value)
            }

            fn end(self) -> Result<Node, NoTree> {
                Ok(self.map())
            }
        }
    )*};
}

structs! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Parts {
    type Ok = Node;
    type Error = NoTree;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NoTree> {
        self.key = Some(key.serialize(Tree)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NoTree> {
        let key = self.key.take().ok_or_else(|| NoTree("a value without a key".to_string()))?;
        self.fields.push((key, value.serialize(Tree)?));
        Ok(())
    }

    fn end(self) -> Result<Node, NoTree> {
        Ok(self.map())
    }
}
