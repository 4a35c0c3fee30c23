//! The oracle as a component, with one export and no import. The world is `wasm/wit/oracle`.

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../wit/oracle",
        world: "oracle",
    });

    use super::Component;
    export!(Component);
}

/// The exports of the world.
struct Component;

impl bindings::Guest for Component {
    fn answer(input: String) -> Result<String, String> {
        wakeful_core::oracle::answer(&input).map_err(|why| why.to_string())
    }
}
