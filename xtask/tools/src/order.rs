//! The functions of a module, put in an order in which those that are alike stand beside each other. What a page downloads is compressed, and a
//! compressor only looks back so far: code that a compiler made of one generic function for many types is then said once and repeated.

use std::collections::{BTreeSet, HashMap};

use wasm_encoder::{
    CodeSection, FunctionSection, Module,
    reencode::{Error, Reencode, RoundtripReencoder, utils},
};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Parser, Payload, TypeRef};

/// How many bytes are compared at a time.
const WINDOW: usize = 6;

/// A sequence that stands in more functions than this tells none from another.
const COMMON: usize = 300;

/// The module with its functions in that order; it does the same.
pub(crate) fn by_likeness(module: &[u8]) -> Result<Vec<u8>, String> {
    let (imported, bodies) = functions(module).map_err(|why| format!("no module: {why}"))?;
    let order = likeness(&bodies);
    let mut places = vec![0; order.len()];
    for (place, function) in order.iter().enumerate() {
        places[*function] = place;
    }
    let mut ordered = Module::new();
    let mut reencoder = Ordered { imported, order, places };
    reencoder.parse_core_module(&mut ordered, Parser::new(0), module).map_err(|why| format!("cannot be written again: {why}"))?;
    Ok(ordered.finish())
}

/// How many functions are imported, and the bodies of the others.
fn functions(module: &[u8]) -> Result<(usize, Vec<&[u8]>), wasmparser::BinaryReaderError> {
    let (mut imported, mut bodies) = (0, Vec::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            _ => {}
        }
    }
    Ok((imported, bodies))
}

/// An order in which each function is followed by the one that has most in common with it, of those that are left.
fn likeness(bodies: &[&[u8]]) -> Vec<usize> {
    let parts: Vec<BTreeSet<&[u8]>> = bodies.iter().map(|body| body.windows(WINDOW).collect()).collect();
    let mut having: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (function, parts) in parts.iter().enumerate() {
        parts.iter().for_each(|part| having.entry(part).or_default().push(function));
    }
    let mut left: BTreeSet<(usize, usize)> = parts.iter().enumerate().map(|(function, parts)| (parts.len(), function)).collect();
    let mut order = Vec::with_capacity(bodies.len());
    let mut shared = vec![0_usize; bodies.len()];
    let mut is_placed = vec![false; bodies.len()];
    // The largest first; then the likest of those that are left, and where nothing is alike, the largest again.
    let mut next = left.last().map(|(_, function)| *function);
    while let Some(function) = next {
        left.remove(&(parts[function].len(), function));
        is_placed[function] = true;
        order.push(function);
        let mut alike = BTreeSet::new();
        for part in &parts[function] {
            for other in having[part].iter().filter(|_| having[part].len() < COMMON).filter(|other| !is_placed[**other]) {
                shared[*other] += 1;
                alike.insert(*other);
            }
        }
        let of_all = |other: usize| parts[function].len() + parts[other].len() - shared[other];
        let likest = alike.iter().copied().max_by(|a, b| (shared[*a] * of_all(*b)).cmp(&(shared[*b] * of_all(*a))).then(b.cmp(a)));
        alike.iter().for_each(|other| shared[*other] = 0);
        next = likest.or_else(|| left.last().map(|(_, function)| *function));
    }
    order
}

/// Writes a module again with its own functions in another order.
struct Ordered {
    imported: usize,
    /// The functions by their new places.
    order: Vec<usize>,
    /// The new places of the functions.
    places: Vec<usize>,
}

impl Reencode for Ordered {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        let own = (function as usize).checked_sub(self.imported);
        // INVARIANT: a module has fewer functions than an index can say.
        Ok(own.map_or(function, |own| u32::try_from(self.imported + self.places[own]).unwrap_or(function)))
    }

    fn parse_function_section(&mut self, functions: &mut FunctionSection, section: FunctionSectionReader<'_>) -> Result<(), Error> {
        let types = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for function in &self.order {
            functions.function(RoundtripReencoder.type_index(types[*function])?);
        }
        Ok(())
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: CodeSectionReader<'_>) -> Result<(), Error> {
        let bodies = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for function in self.order.clone() {
            utils::parse_function_body(self, code, bodies[function].clone())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module of functions without parameters, of which the third is exported: two that are alike stand apart.
    fn module() -> Vec<u8> {
        use wasm_encoder::{ConstExpr, ExportKind, ExportSection, Function, GlobalSection, GlobalType, ImportSection, TypeSection, ValType};
        let (mut module, mut types, mut imports) = (Module::new(), TypeSection::new(), ImportSection::new());
        types.ty().function([], []);
        types.ty().function([], [ValType::I32]);
        imports.import("host", "call", wasm_encoder::EntityType::Function(0));
        let (mut functions, mut globals, mut exports, mut code) = (FunctionSection::new(), GlobalSection::new(), ExportSection::new(), CodeSection::new());
        for ty in [0, 1, 0, 0] {
            functions.function(ty);
        }
        globals.global(GlobalType { val_type: ValType::I32, mutable: true, shared: false }, &ConstExpr::i32_const(0));
        exports.export("third", ExportKind::Func, 3);
        let adds = |times: i32, calls: u32| {
            let mut function = Function::new([]);
            for number in 0..times {
                function.instructions().global_get(0).i32_const(1_000_000 + number).i32_add().global_set(0);
            }
            function.instructions().call(calls).end();
            function
        };
        code.function(&adds(40, 0));
        let mut constant = Function::new([]);
        constant.instructions().i32_const(7).end();
        code.function(&constant).function(&adds(41, 1)).function(&adds(2, 3));
        module.section(&types).section(&imports).section(&functions).section(&globals).section(&exports).section(&code);
        module.finish()
    }

    #[test]
    fn what_is_alike_stands_together_and_keeps_its_name_and_type() {
        let before = module();
        let after = by_likeness(&before).expect("a module");
        wasmparser::validate(&after).expect("a module that is valid");
        let ((imported, old), (still, new)) = (functions(&before).expect("a module"), functions(&after).expect("a module"));
        assert_eq!((imported, old.len()), (still, new.len()));
        let lengths: Vec<_> = new.iter().map(|body| body.len()).collect();
        assert_eq!(lengths, [old[2].len(), old[0].len(), old[3].len(), old[1].len()]);
        let exports = Parser::new(0).parse_all(&after).find_map(|payload| match payload.expect("a part") {
            Payload::ExportSection(section) => section.into_iter().next(),
            _ => None,
        });
        assert_eq!(exports.expect("an export").expect("an export").index, 1, "the largest function is now the first after the import");
    }

    #[test]
    fn the_same_module_has_one_order() {
        assert_eq!(by_likeness(&module()), by_likeness(&module()));
    }
}
