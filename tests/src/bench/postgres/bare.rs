//! Bare SQL: a connection with prepared statements, on one thread.

use tokio::runtime::{self, Runtime};
use tokio_postgres::{Client, NoTls, Row, Statement, types::ToSql};
use wakeful_core::record::chain::Head;

use super::batch::{Batch, ENTRIES};
use crate::fleet::Server;

/// The tables of an append: the head of each agent, and the entries as a store has them.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS heads (
        agent bigint PRIMARY KEY,
        seq bigint NOT NULL,
        chain bytea NOT NULL
    );
    CREATE TABLE IF NOT EXISTS entries (
        agent bigint NOT NULL,
        seq bigint NOT NULL,
        batch bigint NOT NULL,
        chain bytea NOT NULL,
        canonical text NOT NULL,
        PRIMARY KEY (agent, seq)
    )";

/// Appends a batch of one agent.
const APPEND: &str = "
    WITH moved AS (
        UPDATE heads SET seq = $4, chain = $5 WHERE agent = $1 AND seq = $2 AND chain = $3
        RETURNING agent
    )
    INSERT INTO entries (agent, seq, batch, chain, canonical)
    SELECT moved.agent, entry.seq, $2 + 1, entry.chain, entry.canonical
    FROM moved, unnest($6::bigint[], $7::bytea[], $8::text[]) AS entry (seq, chain, canonical)";

/// Appends batches of many agents, one of each.
const APPEND_ALL: &str = "
    WITH want AS (
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[])
            AS want (agent, seq, chain, new_seq, new_chain)
    ), moved AS (
        UPDATE heads SET seq = want.new_seq, chain = want.new_chain FROM want
        WHERE heads.agent = want.agent AND heads.seq = want.seq AND heads.chain = want.chain
        RETURNING heads.agent
    )
    INSERT INTO entries (agent, seq, batch, chain, canonical)
    SELECT moved.agent, entry.seq, entry.batch, entry.chain, entry.canonical
    FROM unnest($6::bigint[], $7::bigint[], $8::bigint[], $9::bytea[], $10::text[])
        AS entry (agent, seq, batch, chain, canonical)
    JOIN moved USING (agent)";

/// A connection. Its own thread does its input and output, while a call waits.
pub(super) struct Bare {
    runtime: Runtime,
    client: Client,
}

impl Bare {
    /// Connects to a schema, which may be that of a store.
    pub(super) fn connect(server: &Server, schema: &str) -> Self {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("the system gives what a connection needs");
        let to = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port());
        let client = runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&to, NoTls).await.expect("the server answers");
            tokio::spawn(connection);
            client
        });
        let bare = Self { runtime, client };
        bare.run(&format!("CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path TO {schema}"));
        bare
    }

    /// Runs statements without values.
    pub(super) fn run(&self, statements: &str) {
        self.runtime.block_on(self.client.batch_execute(statements)).expect("they are right");
    }

    pub(super) fn prepare(&self, statement: &str) -> Statement {
        self.runtime.block_on(self.client.prepare(statement)).expect("it is right")
    }

    pub(super) fn rows(&self, statement: &Statement, values: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        self.runtime.block_on(self.client.query(statement, values)).expect("it is right")
    }

    /// The only row of an answer.
    pub(super) fn row(&self, statement: &str) -> Row {
        let answer = self.client.query_one(statement, &[]);
        self.runtime.block_on(answer).expect("one row")
    }

    fn execute(&self, statement: &Statement, values: &[&(dyn ToSql + Sync)]) -> u64 {
        self.runtime.block_on(self.client.execute(statement, values)).expect("it is right")
    }
}

/// A connection that appends.
pub(super) struct Appender {
    bare: Bare,
    one: Statement,
    all: Statement,
}

impl Appender {
    pub(super) fn connect(server: &Server) -> Self {
        let bare = Bare::connect(server, "bare");
        bare.run(TABLES);
        let (one, all) = (bare.prepare(APPEND), bare.prepare(APPEND_ALL));
        Self { bare, one, all }
    }

    /// Begins agents that have no entries.
    pub(super) fn begin(&self, agents: impl IntoIterator<Item = i64>) {
        let begin = self.bare.prepare("INSERT INTO heads (agent, seq, chain) VALUES ($1, 0, $2)");
        for agent in agents {
            self.bare.execute(&begin, &[&agent, &chain(&Head::START)]);
        }
    }

    pub(super) fn append(&self, agent: i64, batch: &Batch) {
        let (Batch { expected, becomes, .. }, rows) = (batch, &batch.rows);
        let stored = self.bare.execute(
            &self.one,
            &[
                &agent,
                &seq(expected),
                &chain(expected),
                &seq(becomes),
                &chain(becomes),
                &rows.seqs,
                &rows.chains,
                &rows.texts,
            ],
        );
        assert_eq!(stored, ENTRIES as u64, "the head is the expected one");
    }

    /// Appends a batch of each of these agents.
    pub(super) fn append_all(&self, batches: &[(i64, &Batch)]) {
        let agents: Vec<i64> = batches.iter().map(|(agent, _)| *agent).collect();
        let heads = |head: fn(&Batch) -> &Head| -> (Vec<i64>, Vec<&[u8]>) {
            batches.iter().map(|(_, batch)| (seq(head(batch)), chain(head(batch)))).unzip()
        };
        let (seqs, chains) = heads(|batch| &batch.expected);
        let (new_seqs, new_chains) = heads(|batch| &batch.becomes);
        let entries = || {
            batches.iter().flat_map(|(agent, batch)| {
                let rows = &batch.rows;
                let first = seq(&batch.expected) + 1;
                let columns = rows.seqs.iter().zip(&rows.chains).zip(&rows.texts);
                columns.map(move |((seq, chain), text)| (*agent, *seq, first, chain, text))
            })
        };
        let of: Vec<i64> = entries().map(|(agent, ..)| agent).collect();
        let entry_seqs: Vec<i64> = entries().map(|(_, seq, ..)| seq).collect();
        let firsts: Vec<i64> = entries().map(|(_, _, first, ..)| first).collect();
        let entry_chains: Vec<&[u8]> = entries().map(|(.., chain, _)| &**chain).collect();
        let texts: Vec<&str> = entries().map(|(.., text)| &**text).collect();
        let stored = self.bare.execute(
            &self.all,
            &[
                &agents,
                &seqs,
                &chains,
                &new_seqs,
                &new_chains,
                &of,
                &entry_seqs,
                &firsts,
                &entry_chains,
                &texts,
            ],
        );
        assert_eq!(stored, texts.len() as u64, "all heads are the expected ones");
    }
}

fn seq(head: &Head) -> i64 {
    i64::try_from(head.seq.0).expect("few entries")
}

fn chain(head: &Head) -> &[u8] {
    head.chain.as_bytes()
}
