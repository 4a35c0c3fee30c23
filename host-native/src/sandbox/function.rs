//! A component that is not a scheduler: it exports one function from text to text, and imports
//! nothing.

use wasmtime::{
    Store,
    component::{Func, Linker},
};

use super::{
    guest::{Guest, GuestError},
    limits::Limits,
    meter::{Meter, begin, limit},
};

/// The function's answer: a text, or the reason why there is none.
type Answer = Result<String, String>;

/// One instance of such a component, under the default limits.
pub struct Function {
    store: Store<Meter>,
    function: Func,
    guest: Guest,
}

impl Function {
    /// Instantiates a component whose world exports `name` as `func(input: string) ->
    /// result<string, string>`. Errors call the world `world`.
    ///
    /// # Errors
    /// If the component does not export that function, or imports anything.
    pub fn new(guest: &Guest, name: &str, world: &'static str) -> Result<Self, GuestError> {
        let mut store = Store::new(guest.engine(), Meter::new(Limits::default()));
        limit(&mut store);
        begin(&mut store)?;
        let linked = Linker::new(guest.engine()).instantiate(&mut store, guest.component());
        let function = linked.and_then(|instance| {
            // Kept untyped: the typed function has the lifetime of one text.
            Ok(*instance.get_typed_func::<(&str,), (Answer,)>(&mut store, name)?.func())
        });
        let function =
            function.map_err(|why| GuestError::from_instantiation(&why, guest, world))?;
        Ok(Self { store, function, guest: guest.clone() })
    }

    /// Calls the function with a text. The inner result is the function's own answer or refusal.
    ///
    /// # Errors
    /// If the instance reaches a limit or traps.
    pub fn call(&mut self, text: &str) -> Result<Result<String, String>, GuestError> {
        begin(&mut self.store)?;
        let typed = self.function.typed::<(&str,), (Answer,)>(&self.store);
        let answer = typed.and_then(|function| function.call(&mut self.store, (text,)));
        let limits = self.store.data().limits();
        answer
            .map(|(answer,)| answer)
            .map_err(|why| GuestError::from_call(&why, &self.guest, limits))
    }
}
