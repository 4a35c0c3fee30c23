//! Orders the functions of a module so that similar ones are beside each other. A page downloads
//! the module compressed, and a compressor finds repetitions only within its window. Instances of
//! one generic function for many types then compress well.

use std::collections::{BTreeSet, HashMap};

use wasm_encoder::{
    CodeSection, FunctionSection, Module,
    reencode::{Error, Reencode, RoundtripReencoder, utils},
};
use wasmparser::{
    CodeSectionReader, CustomSectionReader, FunctionSectionReader, Parser, Payload, TypeRef,
};

/// The number of bytes that are compared at once.
const WINDOW: usize = 6;

/// The window of a compressor, in bytes.
const REACH: usize = 32_768;

/// A sequence in more functions than this does not distinguish them, so it is ignored.
const COMMON: usize = 300;

/// Returns an equivalent module with its functions in that order, without duplicates.
pub(crate) fn by_likeness(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut module = module.to_vec();
    loop {
        let functions = Functions::parse(&module).map_err(|why| format!("not a module: {why}"))?;
        let firsts = functions.firsts();
        let is_each_once = firsts.iter().enumerate().all(|(function, first)| function == *first);
        let bodies: Vec<_> = functions.bodies.iter().map(|body| body.as_slice()).collect();
        let order = if is_each_once {
            likeness(&bodies)
        } else {
            (0..firsts.len()).filter(|function| firsts[*function] == *function).collect()
        };
        module = functions
            .written(&module, order, &firsts)
            .map_err(|why| format!("cannot be written again: {why}"))?;
        // After duplicates are merged, their callers may be duplicates too.
        if is_each_once {
            return Ok(module);
        }
    }
}

/// The functions of a module.
struct Functions {
    /// The number of imported functions.
    imported: usize,
    /// The types of the own functions.
    types: Vec<u32>,
    /// The code of the own functions.
    bodies: Vec<Vec<u8>>,
}

impl Functions {
    fn parse(module: &[u8]) -> Result<Self, wasmparser::BinaryReaderError> {
        let mut functions = Self { imported: 0, types: Vec::new(), bodies: Vec::new() };
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        functions.imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::FunctionSection(section) => {
                    functions.types = section.into_iter().collect::<Result<_, _>>()?
                }
                Payload::CodeSectionEntry(body) => functions.bodies.push(body.as_bytes().to_vec()),
                _ => {}
            }
        }
        Ok(functions)
    }

    /// For each function, the first one with the same type and code.
    fn firsts(&self) -> Vec<usize> {
        let mut known = HashMap::new();
        self.types
            .iter()
            .zip(&self.bodies)
            .enumerate()
            .map(|(function, code)| *known.entry(code).or_insert(function))
            .collect()
    }

    /// The module with its functions in this order. A call of a function that is left out goes to
    /// its first duplicate.
    fn written(
        &self,
        module: &[u8],
        order: Vec<usize>,
        firsts: &[usize],
    ) -> Result<Vec<u8>, Error> {
        let mut places = vec![0; firsts.len()];
        order.iter().enumerate().for_each(|(place, function)| places[*function] = place);
        let places = firsts.iter().map(|first| places[*first]).collect();
        let mut written = Module::new();
        Ordered { imported: self.imported, order, places }.parse_core_module(
            &mut written,
            Parser::new(0),
            module,
        )?;
        Ok(written.finish())
    }
}

/// An order in which each function has the most in common with those before it, within the window.
fn likeness(bodies: &[&[u8]]) -> Vec<usize> {
    let parts: Vec<BTreeSet<&[u8]>> =
        bodies.iter().map(|body| body.windows(WINDOW).collect()).collect();
    let mut having: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (function, parts) in parts.iter().enumerate() {
        parts.iter().for_each(|part| having.entry(part).or_default().push(function));
    }
    having.retain(|_, functions| functions.len() < COMMON);
    // For each sequence, the number of functions in the window that have it. For each function, the
    // number of its sequences in the window.
    let (mut near, mut shared) = (HashMap::<&[u8], usize>::new(), vec![0_usize; bodies.len()]);
    let mut left: BTreeSet<usize> = (0..bodies.len()).collect();
    let (mut order, mut reached, mut bytes) = (Vec::<usize>::with_capacity(bodies.len()), 0, 0);
    let likelier = |shared: &[usize], a: usize, b: usize| {
        (shared[a] * bodies[b].len()).cmp(&(shared[b] * bodies[a].len()))
    };
    let larger = |a: usize, b: usize| bodies[a].len().cmp(&bodies[b].len()).then(b.cmp(&a));
    while let Some(next) =
        left.iter().copied().max_by(|a, b| likelier(&shared, *a, *b).then_with(|| larger(*a, *b)))
    {
        left.remove(&next);
        order.push(next);
        bytes += bodies[next].len();
        for part in &parts[next] {
            let times = near.entry(part).or_default();
            *times += 1;
            if *times == 1 {
                having.get(part).into_iter().flatten().for_each(|other| shared[*other] += 1);
            }
        }
        while bytes > REACH && reached + 1 < order.len() {
            let gone = order[reached];
            reached += 1;
            bytes -= bodies[gone].len();
            for part in &parts[gone] {
                let times = near.entry(part).or_default();
                *times -= 1;
                if *times == 0 {
                    having.get(part).into_iter().flatten().for_each(|other| shared[*other] -= 1);
                }
            }
        }
    }
    order
}

/// Writes a module again with its functions in another order.
struct Ordered {
    imported: usize,
    /// The functions by their new index; some may be left out.
    order: Vec<usize>,
    /// The new index of each function.
    places: Vec<usize>,
}

impl Reencode for Ordered {
    type Error = std::convert::Infallible;

    /// Sections about the producers of the module are not needed at run time.
    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: CustomSectionReader<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        let own = (function as usize).checked_sub(self.imported);
        // INVARIANT: the number of functions of a module fits an index.
        Ok(own.map_or(function, |own| {
            u32::try_from(self.imported + self.places[own]).unwrap_or(function)
        }))
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error> {
        let types = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for function in &self.order {
            functions.function(RoundtripReencoder.type_index(types[*function])?);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error> {
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

    /// A module of functions without parameters. The third and the last are exported, two similar
    /// ones are apart, and the last is a duplicate of the second.
    fn module() -> Vec<u8> {
        use wasm_encoder::{
            ConstExpr, ExportKind, ExportSection, Function, GlobalSection, GlobalType,
            ImportSection, TypeSection, ValType,
        };
        let (mut module, mut types, mut imports) =
            (Module::new(), TypeSection::new(), ImportSection::new());
        types.ty().function([], []);
        types.ty().function([], [ValType::I32]);
        imports.import("host", "call", wasm_encoder::EntityType::Function(0));
        let (mut functions, mut globals, mut exports, mut code) = (
            FunctionSection::new(),
            GlobalSection::new(),
            ExportSection::new(),
            CodeSection::new(),
        );
        for ty in [0, 1, 0, 0, 1] {
            functions.function(ty);
        }
        globals.global(
            GlobalType { val_type: ValType::I32, mutable: true, shared: false },
            &ConstExpr::i32_const(0),
        );
        exports.export("third", ExportKind::Func, 3).export("last", ExportKind::Func, 5);
        let adds = |times: i32, calls: u32| {
            let mut function = Function::new([]);
            for number in 0..times {
                function
                    .instructions()
                    .global_get(0)
                    .i32_const(1_000_000 + number)
                    .i32_add()
                    .global_set(0);
            }
            function.instructions().call(calls).end();
            function
        };
        code.function(&adds(40, 0));
        let mut constant = Function::new([]);
        constant.instructions().i32_const(7).end();
        code.function(&constant).function(&adds(41, 1)).function(&adds(2, 3)).function(&constant);
        module
            .section(&types)
            .section(&imports)
            .section(&functions)
            .section(&globals)
            .section(&exports)
            .section(&code);
        module.finish()
    }

    #[test]
    fn what_is_alike_stands_together_and_keeps_its_name_and_type() {
        let before = module();
        let after = by_likeness(&before).expect("a module");
        wasmparser::validate(&after).expect("a module that is valid");
        let (old, new) = (
            Functions::parse(&before).expect("a module"),
            Functions::parse(&after).expect("a module"),
        );
        assert_eq!(
            (old.imported, old.bodies.len()),
            (new.imported, new.bodies.len() + 1),
            "two do the same"
        );
        let (old, new) = (old.bodies, new.bodies);
        let lengths: Vec<_> = new.iter().map(|body| body.len()).collect();
        assert_eq!(lengths, [old[2].len(), old[3].len(), old[0].len(), old[1].len()]);
        let exports =
            Parser::new(0).parse_all(&after).find_map(|payload| match payload.expect("a part") {
                Payload::ExportSection(section) => Some(
                    section
                        .into_iter()
                        .map(|export| export.expect("an export").index)
                        .collect::<Vec<_>>(),
                ),
                _ => None,
            });
        assert_eq!(
            exports.expect("exports"),
            [1, 4],
            "the largest function is now the first after the import, the second is the last"
        );
    }

    #[test]
    fn the_same_module_has_one_order() {
        assert_eq!(by_likeness(&module()), by_likeness(&module()));
    }
}
