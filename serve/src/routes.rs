//! The table of routes. The router and the OpenAPI document are made from it.

use wakeful_core::{
    derive::summary::AgentSummary,
    explain::{Explanation, WhyNot},
    fact::Fact,
    record::effect::TurnRequest,
};

use crate::{
    access::Scope,
    api::{
        agents, entries, events, hooks, ingress, projections, read, session, signatures, turns,
        write,
    },
    hooks::{NewHook, ShownHook, Tried},
    route::{
        Body, Cursor, Does, EntryNumber, Parameter, Reply, Route, body, get, header, operate,
        query, reply, schema,
    },
};

const NOTHING: Reply =
    Reply { status: 204, description: "Done, or there is none", kind: "", schema: None };

const STREAM: &[Reply] = &[Reply {
    status: 200,
    description: "Server-sent events: `id` is the number of an entry, `data` its stored text",
    kind: "text/event-stream",
    schema: None,
}];

const AT: Parameter =
    query("at", schema::<EntryNumber>, "The entry after which to ask; the newest if absent");

const BOUNDARY: Parameter = query(
    "boundary",
    schema::<wakeful_core::record::decision::Boundary>,
    "The boundary to ask for; the loop's next one if absent",
);

const WAIT: Parameter = header(
    "Prefer",
    schema::<String>,
    "`wait=SECONDS`: answer only when there is something to say, or after this time",
);

const KEY: Parameter = header(
    write::KEY,
    schema::<write::Key>,
    "Makes the request safe to repeat: the same key with the same body has the first receipt",
);

/// All routes.
pub const ROUTES: &[Route] = &[
    Route {
        scopes: &[],
        ..get(
            "/healthz",
            "health",
            "Whether the process answers",
            &[],
            &[reply(200, "It does", schema::<read::Health>)],
            read::health,
        )
    },
    Route {
        scopes: &[],
        ..get(
            "/readyz",
            "ready",
            "Whether the store can be used and each agent was read",
            &[],
            &[reply(200, "It is", schema::<read::Health>)],
            read::ready,
        )
    },
    Route {
        scopes: &[],
        ..get(
            "/openapi.json",
            "openapi",
            "This document",
            &[],
            &[Reply {
                status: 200,
                description: "OpenAPI 3.1",
                kind: "application/json",
                schema: None,
            }],
            read::openapi,
        )
    },
    get(
        "/metrics",
        "metrics",
        "What the server measures, as Prometheus text; for a token of all agents",
        &[],
        &[Reply {
            status: 200,
            description: "Prometheus text",
            kind: read::PROMETHEUS,
            schema: None,
        }],
        read::metrics,
    ),
    Route {
        scopes: &[Scope::Read, Scope::Prompt, Scope::Operate, Scope::Ingress],
        ..operate(
            "POST",
            "/session",
            "beginSession",
            "Begin the session of a page of this server: the token becomes a cookie",
            None,
            &[NOTHING],
            session::begin,
        )
    },
    Route {
        scopes: &[],
        ..operate(
            "DELETE",
            "/session",
            "endSession",
            "End the session of a page",
            None,
            &[NOTHING],
            session::end,
        )
    },
    get(
        "/v1/agents",
        "listAgents",
        "The agents, each in short, sorted by id",
        &[
            query(
                "posture",
                schema::<wakeful_core::derive::posture::Posture>,
                "Only agents with this posture",
            ),
            query("parked", schema::<bool>, "Only agents that are parked, or only the others"),
            query("cursor", schema::<String>, "Only agents after this id: the `next` of a page"),
            query("limit", schema::<agents::Limit>, "The most agents of a page; 100 if absent"),
        ],
        &[reply(200, "A page", schema::<agents::Page>)],
        agents::list,
    ),
    operate(
        "PUT",
        "/v1/agents/{agent}",
        "putAgent",
        "Make an agent, or change who runs its turns",
        Some(Body { is_required: false, schema: Some(schema::<agents::NewAgent>) }),
        &[
            reply(200, "It was there", schema::<AgentSummary>),
            reply(201, "It was made", schema::<AgentSummary>),
        ],
        agents::put,
    ),
    get(
        "/v1/agents/{agent}",
        "getAgent",
        "The summary of an agent",
        &[],
        &[reply(200, "The summary", schema::<AgentSummary>)],
        read::agent,
    ),
    operate(
        "DELETE",
        "/v1/agents/{agent}",
        "putAgentAway",
        "Stop driving and listing an agent; its ledger stays and can be read",
        None,
        &[NOTHING],
        agents::put_away,
    ),
    get(
        "/v1/agents/{agent}/explain",
        "explain",
        "What would be decided, and why",
        &[AT, BOUNDARY],
        &[reply(200, "The explanation", schema::<Explanation>)],
        read::explain,
    ),
    get(
        "/v1/agents/{agent}/why-not",
        "whyNot",
        "What would lead to another decision",
        &[
            Parameter {
                is_required: true,
                ..query(
                    "decision",
                    schema::<wakeful_core::record::decision::DecisionKind>,
                    "The decision that did not come",
                )
            },
            AT,
            BOUNDARY,
        ],
        &[reply(200, "The ways to it", schema::<WhyNot>)],
        read::why_not,
    ),
    get(
        "/v1/agents/{agent}/work-items",
        "workItems",
        "The open work items, each with the entry of its newest record",
        &[],
        &[reply(
            200,
            "The items",
            schema::<Vec<projections::Behind<wakeful_core::record::work::WorkItemRecord>>>,
        )],
        projections::work_items,
    ),
    get(
        "/v1/agents/{agent}/tasks",
        "tasks",
        "The active tasks by the work item that they belong to",
        &[],
        &[reply(200, "The tasks", schema::<Vec<projections::TasksOf>>)],
        projections::tasks,
    ),
    get(
        "/v1/agents/{agent}/waits",
        "waits",
        "What the agent and its items wait for",
        &[],
        &[reply(200, "The waits", schema::<projections::Waits>)],
        projections::waits,
    ),
    get(
        "/v1/agents/{agent}/timers",
        "timers",
        "The active timers",
        &[],
        &[reply(
            200,
            "The timers",
            schema::<Vec<projections::Behind<wakeful_core::record::waiting::TimerRecord>>>,
        )],
        projections::timers,
    ),
    get(
        "/v1/agents/{agent}/children",
        "children",
        "The agents that it spawned and supervises",
        &[],
        &[reply(200, "The children", schema::<Vec<wakeful_core::derive::summary::ChildSummary>>)],
        projections::children,
    ),
    get(
        "/v1/agents/{agent}/triggers",
        "triggers",
        "The external triggers that can be delivered to, without their tokens",
        &[],
        &[reply(200, "The triggers", schema::<Vec<wakeful_core::derive::summary::TriggerSummary>>)],
        projections::triggers,
    ),
    get(
        "/v1/agents/{agent}/diagnostics",
        "diagnostics",
        "What is odd about the agent now",
        &[],
        &[reply(
            200,
            "The diagnostics",
            schema::<Vec<wakeful_core::record::diagnostic::Diagnostic>>,
        )],
        projections::diagnostics,
    ),
    get(
        "/v1/agents/{agent}/snapshot",
        "snapshot",
        "The newest stored snapshot; the entries after it lead from there to the state now",
        &[],
        &[
            Reply {
                status: 200,
                description: "The stored text, as the core reads it",
                kind: "application/json",
                schema: None,
            },
            NOTHING,
        ],
        read::snapshot,
    ),
    Route {
        does: Does::Streams(entries::stream),
        ..get(
            "/v1/agents/{agent}/entries",
            "entries",
            "The stored entries as a stream of server-sent events",
            &[
                query("after", schema::<EntryNumber>, "Only entries after this one"),
                query("until", schema::<entries::Until>, "Its end; it has none if absent"),
                header("Last-Event-ID", schema::<EntryNumber>, "As `after`; it goes before"),
            ],
            STREAM,
            read::health,
        )
    },
    Route {
        does: Does::Streams(events::stream),
        ..get(
            "/v1/events",
            "events",
            "The stored entries of all agents as a stream of server-sent events, in order for each \
             agent; for a token of all agents",
            &[
                query("after", schema::<Cursor>, "Only what comes after this `id` of an event"),
                query("from", schema::<events::From>, "Its beginning without an `id`"),
                query("until", schema::<entries::Until>, "Its end; it has none if absent"),
                header("Last-Event-ID", schema::<String>, "As `after`; it goes before"),
            ],
            &[Reply {
                status: 200,
                description: "Server-sent events `entry`: `id` is where to go on, and `data` has \
                    `agent_id`, `seq` and `entry`, which is the stored text. An event `broken` \
                    names an agent whose entries cannot be read",
                kind: "text/event-stream",
                schema: None,
            }],
            read::health,
        )
    },
    Route {
        scopes: &[Scope::Prompt, Scope::Ingress],
        parameters: &[KEY, WAIT],
        does: Does::AnswersTurn,
        ..operate(
            "POST",
            "/v1/agents/{agent}/messages",
            "say",
            "Say something to an agent: a prompt of its operator, or an event",
            body::<write::NewMessage>(),
            &[
                reply(
                    200,
                    "It is recorded; with `Prefer: wait`, its turn has ended",
                    schema::<write::Heard>,
                ),
                reply(
                    202,
                    "It is recorded, and its turn has not ended in this time",
                    schema::<write::Heard>,
                ),
            ],
            read::health,
        )
    },
    operate(
        "POST",
        "/v1/agents/{agent}/facts",
        "reportFact",
        "Report a fact, as a host that runs its own turns does",
        body::<Fact>(),
        &[reply(200, "What became of it, and what followed", schema::<crate::agents::Said>)],
        write::fact,
    ),
    operate(
        "POST",
        "/v1/agents/{agent}/control",
        "control",
        "Start, stop, wake or restart an agent",
        body::<write::Control>(),
        &[reply(200, "What became of it, and what followed", schema::<crate::agents::Said>)],
        write::control,
    ),
    Route {
        method: "GET",
        parameters: &[WAIT],
        does: Does::WaitsForTurn,
        ..operate(
            "GET",
            "/v1/agents/{agent}/turn",
            "openTurn",
            "The open turn, for a host that runs it",
            None,
            &[reply(200, "What the turn is about", schema::<TurnRequest>), NOTHING],
            read::health,
        )
    },
    Route {
        parameters: &[],
        ..operate(
            "GET",
            "/v1/turns",
            "openTurns",
            "The agents whose open turn a host must run",
            None,
            &[reply(200, "The open turns", schema::<Vec<turns::OpenTurn>>)],
            turns::all,
        )
    },
    operate(
        "POST",
        "/v1/agents/{agent}/triggers",
        "makeTrigger",
        "Make an external trigger; its address is shown once",
        body::<write::NewTrigger>(),
        &[reply(201, "The trigger with its token", schema::<write::MadeTrigger>)],
        write::make_trigger,
    ),
    operate(
        "POST",
        "/v1/agents/{agent}/triggers/{trigger}/rotate",
        "rotateTrigger",
        "Give an external trigger a new token; the old one ends",
        None,
        &[reply(200, "The trigger with its token", schema::<write::MadeTrigger>)],
        write::rotate_trigger,
    ),
    operate(
        "DELETE",
        "/v1/agents/{agent}/triggers/{trigger}",
        "revokeTrigger",
        "End an external trigger",
        None,
        &[NOTHING],
        write::revoke_trigger,
    ),
    operate(
        "PUT",
        "/v1/agents/{agent}/triggers/{trigger}/signature",
        "signTrigger",
        "Take deliveries to a trigger only if they are signed",
        body::<signatures::NewSignature>(),
        &[reply(200, "How they are signed from now on", schema::<signatures::Signed>)],
        signatures::put,
    ),
    operate(
        "DELETE",
        "/v1/agents/{agent}/triggers/{trigger}/signature",
        "unsignTrigger",
        "Take deliveries to a trigger without a signature",
        None,
        &[NOTHING],
        signatures::end,
    ),
    operate(
        "GET",
        "/v1/hooks",
        "listHooks",
        "The hooks: addresses that learn what happens to agents",
        None,
        &[reply(200, "The hooks, sorted by name", schema::<Vec<ShownHook>>)],
        hooks::list,
    ),
    operate(
        "PUT",
        "/v1/hooks/{hook}",
        "putHook",
        "Make a hook, which learns what happens from now on, or change one; the secret of a new hook \
         is shown once",
        body::<NewHook>(),
        &[
            reply(200, "It was there, and is changed", schema::<ShownHook>),
            reply(201, "It was made", schema::<ShownHook>),
        ],
        hooks::put,
    ),
    operate(
        "DELETE",
        "/v1/hooks/{hook}",
        "deleteHook",
        "End a hook; what it was not told yet is forgotten",
        None,
        &[NOTHING],
        hooks::delete,
    ),
    operate(
        "POST",
        "/v1/hooks/{hook}/test",
        "testHook",
        "Send the event `hook.test` to a hook now, once",
        None,
        &[reply(200, "What came of it", schema::<Tried>)],
        hooks::test,
    ),
    Route {
        scopes: &[],
        parameters: &[
            header("webhook-id", schema::<String>, "The id of the delivery (Standard Webhooks)"),
            header("X-GitHub-Delivery", schema::<String>, "The id of the delivery (GitHub)"),
            header("ce-id", schema::<String>, "The id of the delivery (CloudEvents)"),
        ],
        ..operate(
            "POST",
            "/in/{token}",
            "deliver",
            "Deliver to the external trigger that has this token",
            Some(Body { is_required: false, schema: None }),
            &[reply(202, "It is recorded", schema::<ingress::Delivered>)],
            ingress::deliver,
        )
    },
];
