//! The kinds of attacks: what each breaks, and whether bubblewrap holds it. SECURITY.md has the
//! same table, and a test compares the two.

/// Attacks of one kind.
pub(crate) struct Kind {
    pub(crate) title: &'static str,
    /// The words of SECURITY.md or docs/agent.md that promise it.
    pub(crate) promise: &'static str,
    /// Why bubblewrap does not hold it; `None` if it does.
    pub(crate) open: Option<&'static str>,
}

const OWN: &str = "each command has its own file system, processes, network and terminal, and ends with the agent";
const NEEDED: &str = "a filter refuses system calls that no command needs";
const NO_NETWORK: &str = "It cannot read your home, and it has no network.";

pub(crate) const FILES: Kind = Kind {
    title: "reads or writes files outside, devices or settings of the kernel",
    promise: "By default a command can read and write the workspace and a private folder for \
              temporary files, and read the system's programs and libraries.",
    open: None,
};

pub(crate) const CLOSED: Kind = Kind {
    title: "reads, as root, what others may not read below the system's folders, or uses sockets \
            there",
    promise: OWN,
    open: None,
};

pub(crate) const METADATA: Kind = Kind {
    title: "changes modes, times, owners or attributes of files outside, watches them, or asks \
            whether they exist",
    promise: OWN,
    open: None,
};

pub(crate) const PROCESSES: Kind = Kind {
    title: "reads the memory, environment, files or message queues of other processes, or ends, \
            stops or limits them",
    promise: OWN,
    open: None,
};

pub(crate) const NEIGHBOURS: Kind = Kind {
    title: "sees the arguments of other processes, or changes their priority and processors",
    promise: OWN,
    open: None,
};

pub(crate) const LEFT_RUNNING: Kind = Kind {
    title: "leaves a process that is still in its group or session, or has its mark",
    promise: "Processes that it leaves running end with it.",
    open: None,
};

pub(crate) const DAEMONS: Kind = Kind {
    title: "leaves a process that has left its group, lost its parent and cleared its \
            environment, or that outlives a killed host",
    promise: OWN,
    open: None,
};

pub(crate) const TCP: Kind = Kind {
    title: "uses TCP, MPTCP or abstract sockets of the machine",
    promise: NO_NETWORK,
    open: None,
};

pub(crate) const ABSTRACT: Kind = Kind {
    title: "uses, while the policy opens the whole network, abstract sockets of the machine",
    promise: "`network = true` opens the network of the machine",
    open: Some("they belong to the network that the policy opens"),
};

pub(crate) const SERVICES: Kind = Kind {
    title: "uses UDP, listens without a port of its own, or uses the socket file of a local service",
    promise: NO_NETWORK,
    open: None,
};

pub(crate) const IPC: Kind =
    Kind { title: "reads System V shared memory of other processes", promise: OWN, open: None };

pub(crate) const CALLS: Kind = Kind {
    title: "uses keyrings, io_uring, bpf, userfaultfd, namespaces, mounts, raw sockets, or rights \
            of root",
    promise: NEEDED,
    open: None,
};

pub(crate) const TYPING: Kind = Kind {
    title: "types into the operator's terminal, or opens it by its number",
    promise: OWN,
    open: None,
};

pub(crate) const TERMINAL: Kind = Kind {
    title: "writes to the operator's terminal, or takes its keyboard",
    promise: OWN,
    open: None,
};

pub(crate) const OUTPUT: Kind = Kind {
    title: "steers the terminal by what the command, the model or a tool says",
    promise: "**The terminal** gets no control character from a model, a command or a ledger",
    open: None,
};

pub(crate) const LIMITS: Kind = Kind {
    title: "uses more memory, processors, open files or file sizes than the policy says, or as \
            root more processes",
    promise: "The policy limits processes, memory, CPU time, open files, file sizes and output.",
    open: None,
};

pub(crate) const PROCESSES_OF_USERS: Kind = Kind {
    title: "starts, as a user that is not root, more processes than the policy says",
    promise: "The policy limits processes, memory, CPU time, open files, file sizes and output.",
    open: None,
};

pub(crate) const SHARED_MEMORY: Kind = Kind {
    title: "uses shared memory, which is not counted as that of a process",
    promise: "The policy limits processes, memory, CPU time, open files, file sizes and output.",
    open: Some("the kernel counts only memory that a process does not share"),
};

pub(crate) const GIT: Kind = Kind {
    title: "makes git of the host run a program, follow a link or delete a folder",
    promise: OWN,
    open: None,
};

pub(crate) const WAITS: Kind = Kind {
    title: "makes git of the host wait, so that the agent does not stop when it is told to",
    promise: "it is killed when its turn is",
    open: None,
};

pub(crate) const SECRETS: Kind = Kind {
    title: "reads keys of the host in its environment, or prints them",
    promise: "**Keys** come from the environment, and are removed from what a model, a command or \
              a tool says before it reaches a ledger.",
    open: None,
};

pub(crate) const REPLACED: Kind = Kind {
    title: "replaces the program, the ledger or the agent's folder",
    promise: "A ledger, an agent's folder or the program itself inside the workspace is refused, \
              because commands could change it.",
    open: None,
};

/// All kinds, in the order of the page.
pub(crate) const KINDS: [&Kind; 22] = [
    &FILES,
    &CLOSED,
    &METADATA,
    &PROCESSES,
    &NEIGHBOURS,
    &LEFT_RUNNING,
    &DAEMONS,
    &TCP,
    &ABSTRACT,
    &SERVICES,
    &IPC,
    &CALLS,
    &TYPING,
    &TERMINAL,
    &OUTPUT,
    &LIMITS,
    &PROCESSES_OF_USERS,
    &SHARED_MEMORY,
    &GIT,
    &WAITS,
    &SECRETS,
    &REPLACED,
];
