//! How a server says what the model means: rows of the table in docs/providers.md, drawn at random
//! and combined.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    dice::Dice,
    openai::answer::{Answer, Events, Length},
    shared::Shared,
};

/// What the model answers.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Words that end the turn.
    Says(String),
    /// Calls of tools, each with its name and arguments.
    Calls(Vec<(String, Value)>),
}

/// An answer being drawn.
pub(crate) struct Render<'a> {
    pub(crate) dice: &'a mut Dice,
    pub(crate) shared: &'a Shared,
    /// The tokens of the prompt.
    pub(crate) tokens: u64,
}

impl Render<'_> {
    /// One of these forms, which is counted by its name.
    fn draw<T: Clone>(&mut self, forms: &[(&'static str, T)]) -> T {
        let (name, form) = &forms[self.dice.index(forms.len())];
        self.shared.count(name);
        form.clone()
    }

    /// The answer in a form that is drawn.
    pub(crate) fn answer(&mut self, meaning: &Meaning, is_stream: bool) -> Answer {
        let answer = if is_stream { self.streamed(meaning) } else { self.whole(meaning) };
        self.sent(answer)
    }

    /// The answer in a form without any quirk.
    pub(crate) fn plain(meaning: &Meaning) -> Answer {
        match meaning {
            Meaning::Says(text) => Answer::says(text),
            Meaning::Calls(calls) => {
                let calls: Vec<_> =
                    calls.iter().map(|(name, args)| (name.as_str(), args.clone())).collect();
                Answer::calls(&calls)
            }
        }
    }

    fn streamed(&mut self, meaning: &Meaning) -> Answer {
        let mut events = Events::new();
        if self.dice.one_in(6) {
            events = events.delta(json!({"role": "assistant", "content": ""}));
        }
        events = self.noise(events);
        events = self.thoughts(events);
        let early = self.dice.one_in(12);
        if early {
            self.shared.count("usage before the finish");
            events = events.data(&json!({"choices": [], "usage": self.counts()}));
        }
        for delta in self.deltas(meaning) {
            events = self.noise(events.delta(delta));
        }
        let end = self.finish(meaning);
        events = match end {
            Some(reason) => events.finish(reason),
            None => events,
        };
        if !early {
            events = self.usage(events);
        }
        let ends = self.draw(&[
            ("[DONE]", "data: [DONE]\n\n"),
            ("[DONE]", "data: [DONE]\n\n"),
            ("[DONE] without an empty line", "data: [DONE]\n"),
            // Without a finish and without this, the stream would be one that broke off.
            ("no [DONE]", if end.is_some() { "" } else { "data: [DONE]\n\n" }),
        ]);
        let kind = self.draw(&[
            ("an event stream", "text/event-stream"),
            ("an event stream", "text/event-stream; charset=utf-8"),
            ("an event stream", "text/event-stream"),
            ("a stream of the wrong type", "application/json"),
            ("a stream of the wrong type", "text/plain"),
        ]);
        let bare = Answer::stream(events.raw(ends));
        if kind == "text/event-stream" { bare } else { bare.of_type(kind) }
    }

    fn whole(&mut self, meaning: &Meaning) -> Answer {
        let message = match meaning {
            Meaning::Says(text) => {
                let content = self.content(text);
                json!({"role": "assistant", "content": content})
            }
            Meaning::Calls(calls) => {
                let calls: Vec<_> = calls
                    .iter()
                    .enumerate()
                    .map(|(at, (name, args))| {
                        let args = self.arguments(args);
                        let mut call = json!({"type": "function",
                            "function": {"name": name, "arguments": args}});
                        match self.dice.below(4) {
                            0 => self.shared.count("calls of a whole answer without ids"),
                            1 => {
                                self.shared.count("calls of a whole answer with one id");
                                call["id"] = json!("call-1");
                            }
                            _ => call["id"] = json!(format!("call-{at}")),
                        }
                        call
                    })
                    .collect();
                json!({"role": "assistant", "content": null, "tool_calls": calls})
            }
        };
        let finish = self.finish(meaning);
        let mut body = json!({"id": "chatcmpl-1", "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}]});
        if !self.dice.one_in(5) {
            body["usage"] = self.counts();
        }
        self.shared.count("a whole answer");
        Answer::status(200, "application/json", body.to_string())
    }

    /// The pieces of what the model means.
    fn deltas(&mut self, meaning: &Meaning) -> Vec<Value> {
        match meaning {
            Meaning::Says(text) => match self.dice.below(3) {
                0 => {
                    let half = text.floor_char_boundary(text.len() / 2);
                    vec![json!({"content": text[..half]}), json!({"content": text[half..]})]
                }
                _ => vec![json!({"content": self.content(text)})],
            },
            Meaning::Calls(calls) => {
                let mut deltas = Vec::new();
                if self.dice.one_in(4) {
                    self.shared.count("text beside calls");
                    deltas.push(json!({"content": "I look.\n"}));
                }
                deltas.extend(self.calls(calls));
                deltas
            }
        }
    }

    fn content(&mut self, text: &str) -> Value {
        self.draw(&[
            ("content is text", json!(text)),
            ("content is text", json!(text)),
            ("content is a list of parts", json!([{"type": "text", "text": text}])),
            ("content is a list of strings", json!([text, ""])),
            ("content is one part", json!({"type": "output_text", "text": text})),
            (
                "thoughts are parts of the content",
                json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": text}]),
            ),
            ("content is a number", json!(42)),
            ("content is true", json!(true)),
        ])
    }

    /// The arguments of a call, as text or in a form that models use instead.
    fn arguments(&mut self, args: &Value) -> Value {
        let text = args.to_string();
        self.draw(&[
            ("arguments are text", json!(text)),
            ("arguments are text", json!(text)),
            ("arguments are an object", args.clone()),
            ("arguments are encoded twice", json!(json!(text).to_string())),
        ])
    }

    fn calls(&mut self, calls: &[(String, Value)]) -> Vec<Value> {
        let form = self.draw(&[
            ("calls by index", 0),
            ("calls by index", 0),
            ("calls by index", 0),
            ("calls under one index", 1),
            ("calls without ids", 2),
            ("calls without an index", 3),
            ("calls with one id", 4),
            ("an empty object before the arguments", 5),
            ("each piece has the name again", 6),
            ("a call without its wrapper", 7),
            ("the older function_call", 8),
            ("a call with a signature", 9),
            ("an empty call beside calls", 10),
            ("all calls in one delta", 11),
        ]);
        let whole = |index: usize, id: Option<String>, name: &str, args: Value| {
            let mut call = json!({"index": index, "type": "function",
                "function": {"name": name, "arguments": args}});
            if let Some(id) = id {
                call["id"] = json!(id);
            }
            call
        };
        let said = |call: Value| json!({"tool_calls": [call]});
        let id = |at: usize| Some(format!("call-{at}"));
        let mut deltas = Vec::new();
        if form == 11 {
            let all: Vec<_> = calls
                .iter()
                .enumerate()
                .map(|(at, (name, args))| whole(at, id(at), name, self.arguments(args)))
                .collect();
            return vec![json!({"tool_calls": all})];
        }
        for (at, (name, args)) in calls.iter().enumerate() {
            let text = args.to_string();
            match form {
                1 => deltas.push(said(whole(0, id(at), name, json!(text)))),
                2 => deltas.push(said(whole(at, None, name, json!(text)))),
                3 => {
                    let mut call = whole(at, id(at), name, json!(text));
                    call["index"] = Value::Null;
                    deltas.push(said(call));
                }
                4 => {
                    deltas.push(said(whole(at, Some("call-1".to_owned()), name, json!(text))));
                }
                5 => {
                    deltas.push(said(whole(at, id(at), name, json!({}))));
                    let rest = json!({"index": at, "function": {"arguments": text}});
                    deltas.push(said(rest));
                }
                6 => {
                    let half = text.floor_char_boundary(text.len() / 2);
                    for piece in [&text[..half], &text[half..]] {
                        deltas.push(said(whole(at, id(at), name, json!(piece))));
                    }
                }
                7 => deltas.push(said(json!({"index": at, "id": id(at), "name": name,
                    "arguments": text}))),
                8 if calls.len() == 1 => {
                    deltas.push(json!({"function_call": {"name": name, "arguments": text}}));
                }
                9 => {
                    let mut call = whole(at, id(at), name, json!(text));
                    call["extra_content"] = json!({"google": {"thought_signature": "sealed"}});
                    deltas.push(said(call));
                }
                _ => {
                    deltas.push(said(whole(at, id(at), name, json!(""))));
                    let step = (text.len() / 3).max(1);
                    let mut from = 0;
                    while from < text.len() {
                        let to = text.floor_char_boundary((from + step).min(text.len()));
                        let rest = json!({"index": at, "function": {"arguments": text[from..to]}});
                        deltas.push(said(rest));
                        from = to;
                    }
                }
            }
        }
        if form == 10 {
            deltas.push(json!({"tool_calls": [{}], "function_call": {}}));
        }
        deltas
    }

    fn thoughts(&mut self, events: Events) -> Events {
        let piece = |text: &str| {
            let detail = json!({"type": "reasoning.text", "index": 0, "text": text});
            json!({ "reasoning_details": [detail] })
        };
        match self.dice.below(10) {
            0 => {
                self.shared.count("reasoning_content");
                events.delta(json!({"reasoning_content": "I think about it."}))
            }
            1 => {
                self.shared.count("a signed thought in pieces");
                events.delta(piece("I think")).delta(piece(" about it.")).delta(json!({
                    "reasoning_details": [{"type": "reasoning.text", "index": 0,
                        "signature": "sealed"}]}))
            }
            2 => {
                self.shared.count("a long thought");
                events.delta(json!({"reasoning": "I think. ".repeat(1_000)}))
            }
            _ => events,
        }
    }

    /// Signs of life, empty chunks and fields that say nothing.
    fn noise(&mut self, events: Events) -> Events {
        if !self.dice.one_in(6) {
            return events;
        }
        let odd = [json!(null), json!(-1), json!(1.5), json!("12"), json!({}), json!([])];
        let odd = odd[self.dice.index(odd.len())].clone();
        let nothing = json!({"id": odd, "model": odd, "created": odd, "usage": odd,
            "error": null, "choices": [{"index": null, "delta": {"content": null},
            "finish_reason": null, "logprobs": odd}]})
        .to_string();
        let nothing = format!("data: {nothing}\n\n");
        let raw = self.draw(&[
            ("a comment keeps alive", ": keep-alive\n\n".to_owned()),
            ("an event without data", "data:\n\n".to_owned()),
            ("a ping", "event: ping\ndata: {\"type\":\"ping\"}\n\n".to_owned()),
            ("an empty chunk", "data: {\"choices\":[{\"delta\":null}]}\n\n".to_owned()),
            ("an empty chunk", "data: {\"choices\":null}\n\n".to_owned()),
            ("an error that says nothing", "data: {\"error\":{},\"choices\":[]}\n\n".to_owned()),
            ("fields of any type", nothing),
            ("retry:", "retry: 100\n\n".to_owned()),
        ]);
        events.raw(&raw)
    }

    /// The reason for the end; `None` if it is left out.
    fn finish(&mut self, meaning: &Meaning) -> Option<&'static str> {
        match meaning {
            Meaning::Says(_) => self.draw(&[
                ("finish: stop", Some("stop")),
                ("finish: stop", Some("stop")),
                ("finish: end_turn", Some("end_turn")),
                ("finish: STOP", Some("STOP")),
                ("finish: eos_token", Some("eos_token")),
                ("finish: stop_sequence", Some("stop_sequence")),
                ("finish: length", Some("length")),
                ("finish: max_tokens", Some("MAX_TOKENS")),
                ("finish: unknown", Some("no such reason")),
                ("finish: none", None),
            ]),
            Meaning::Calls(_) => self.draw(&[
                ("finish: tool_calls", Some("tool_calls")),
                ("finish: tool_calls", Some("tool_calls")),
                ("finish: tool_use", Some("tool_use")),
                ("finish: stop beside calls", Some("stop")),
                ("finish: length beside whole calls", Some("length")),
                ("finish: abort beside calls", Some("abort")),
                ("finish: none", None),
            ]),
        }
    }

    fn counts(&mut self) -> Value {
        let (prompt, answer) = (self.tokens, 20);
        self.draw(&[
            (
                "counts",
                json!({"prompt_tokens": prompt, "completion_tokens": answer,
                    "total_tokens": prompt + answer}),
            ),
            (
                "counts",
                json!({"prompt_tokens": prompt, "completion_tokens": answer,
                    "prompt_tokens_details": {"cached_tokens": prompt / 2}}),
            ),
            ("counts of other names", json!({"input_tokens": prompt, "output_tokens": answer})),
            ("counts are null", json!({"prompt_tokens": null, "completion_tokens": null})),
            ("counts are text", json!({"prompt_tokens": prompt.to_string()})),
            ("counts are floats", json!({"prompt_tokens": prompt as f64 + 0.5})),
            ("counts are negative", json!({"prompt_tokens": -1, "completion_tokens": -7})),
            ("counts are huge", json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e300})),
            ("counts are zero", json!({"prompt_tokens": 0, "completion_tokens": 0})),
            ("counts are a list", json!([prompt])),
        ])
    }

    fn usage(&mut self, events: Events) -> Events {
        let counts = self.counts();
        let chunk = self.draw(&[
            ("usage in a chunk of its own", json!({"choices": [], "usage": counts})),
            ("usage in a chunk of its own", json!({"choices": null, "usage": counts})),
            ("usage in the choice", json!({"choices": [{"delta": {}, "usage": counts}]})),
            ("usage in x_groq", json!({"choices": [], "x_groq": {"usage": counts}})),
            ("no usage", Value::Null),
        ]);
        if chunk.is_null() { events } else { events.data(&chunk) }
    }

    /// The way in which the bytes are sent.
    fn sent(&mut self, answer: Answer) -> Answer {
        match self.dice.below(14) {
            0 => {
                self.shared.count("the answer is compressed");
                answer.compressed()
            }
            1 => {
                self.shared.count("the length is given");
                answer.length(Length::Given)
            }
            2 => {
                self.shared.count("the end is the end of the connection");
                answer.length(Length::UntilClose)
            }
            3 => {
                self.shared.count("tiny pieces");
                answer.in_pieces_of(7, Duration::ZERO)
            }
            4 => {
                self.shared.count("a pause in the middle");
                let half = answer.body_len() / 2;
                answer.split_at(half, Duration::from_millis(5))
            }
            5 => {
                self.shared.count("a slow head");
                answer.slow_head(Duration::from_millis(5))
            }
            _ => answer,
        }
    }
}
