//! Mistakes of a host's program: it returns a promise where something must be done, or calls the
//! scheduler from inside one of its own methods. What they break shows much later, so the call from
//! outside during which one happened throws it.

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{ErrorCode, ErrorReport};
use wasm_bindgen::JsValue;

use crate::error::thrown;

/// The mistakes of one scheduler's host during one call.
#[derive(Clone, Default)]
pub(crate) struct Mistakes(Rc<RefCell<Noted>>);

#[derive(Default)]
struct Noted {
    /// The method of the host that runs.
    running: Option<&'static str>,
    /// The first mistake of this call.
    first: Option<String>,
}

impl Mistakes {
    /// A method of the host is called now.
    pub(crate) fn begins(&self, method: &'static str) {
        self.0.borrow_mut().running = Some(method);
    }

    /// The method has answered.
    pub(crate) fn ends(&self) {
        self.0.borrow_mut().running = None;
    }

    /// The method has answered with this, which is not a promise.
    #[inline(never)]
    pub(crate) fn answered(&self, answer: Result<JsValue, JsValue>) -> Result<JsValue, JsValue> {
        let method = self.0.borrow_mut().running.take().unwrap_or_default();
        let answer = answer?;
        self.no_promise(method, &answer)?;
        Ok(answer)
    }

    /// A method must not return a promise, because its failure would come too late.
    fn no_promise(&self, method: &str, answer: &JsValue) -> Result<(), JsValue> {
        // Reading `then` of a value without properties would throw, which costs more than the rest
        // of the call.
        if !answer.is_object() && !answer.is_function() {
            return Ok(());
        }
        let then = js_sys::Reflect::get(answer, &"then".into());
        if !then.is_ok_and(|then| then.is_function()) {
            return Ok(());
        }
        Err(self.note(format!(
            "`{method}` returned a promise, but this loop needs it done at once: use \
             `AsyncScheduler`"
        )))
    }

    /// The error of a call from inside a call.
    #[inline(never)]
    pub(crate) fn inside(&self) -> JsValue {
        let running = self.0.borrow().running.unwrap_or("a method of the host");
        self.note(format!(
            "`{running}` called the scheduler, which waits for it: say what a turn brings after \
             the method has returned"
        ))
    }

    /// Throws the first mistake of the call that ends, if there was one.
    #[inline(never)]
    pub(crate) fn none(&self) -> Result<(), JsValue> {
        self.0.borrow_mut().first.take().map_or(Ok(()), |message| Err(misuse(message)))
    }

    #[inline(never)]
    fn note(&self, message: String) -> JsValue {
        self.0.borrow_mut().first.get_or_insert_with(|| message.clone());
        misuse(message)
    }
}

fn misuse(message: String) -> JsValue {
    thrown(&ErrorReport { code: ErrorCode::Misuse, message, place: None })
}
