//! A row of the table: an attack, how its success is seen, and what is expected.

use std::{
    env,
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use wakeful_agent::confine::Wall;

use crate::{
    come::{Came, Cell, Expected},
    kinds::Kind,
    scene::Scene,
    users,
};

/// What the host saw. `Ok` says how the attack succeeded, and `Err` why it did not.
pub(crate) type Outcome = Result<String, String>;

/// Who can try an attack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who {
    /// Any user.
    All,
    /// Only root. The text says why.
    Root(&'static str),
    /// Any user except root. The text says why.
    Others(&'static str),
}

/// One attack.
pub(crate) struct Row {
    /// What the command does, in plain words.
    pub(crate) name: &'static str,
    pub(crate) kind: &'static Kind,
    /// Ways to do the same. Each is tried alone; without a wall each must succeed.
    pub(crate) ways: &'static [&'static str],
    /// Tries one way.
    pub(crate) tries: fn(&Scene, &str) -> Outcome,
    pub(crate) who: Who,
    /// What it needs of the machine. The error says what is missing.
    pub(crate) needs: fn() -> Result<(), String>,
    /// Whether no other row may run beside it, because it counts or fills something of the user.
    pub(crate) is_alone: bool,
    /// Whether it takes so long that only the whole suite tries it.
    pub(crate) is_slow: bool,
}

/// A row that everybody can try in one way. Rows begin with it and name what differs.
pub(crate) const ROW: Row = Row {
    name: "",
    kind: &crate::kinds::FILES,
    ways: &[""],
    tries: |_, _| Err(String::new()),
    who: Who::All,
    needs: || Ok(()),
    is_alone: false,
    is_slow: false,
};

/// The walls in the order of the table. With `None` there is not any. A container is not among
/// them: it holds the suite itself.
pub(crate) const WALLS: [Option<Wall>; 2] = [None, Some(Wall::Bubblewrap)];

impl Row {
    /// Why the row cannot be tried by this user on this machine.
    fn is_left_out(&self) -> Option<String> {
        if self.is_slow && !is_whole() {
            return Some("it takes long, so only `cargo xtask attack` tries it".to_owned());
        }
        match self.who {
            Who::Root(why) if !users::is_root() => Some(format!("only for root: {why}")),
            Who::Others(why) if users::is_root() => Some(format!("not for root: {why}")),
            _ => (self.needs)().err(),
        }
    }

    fn expected(&self, wall: Option<Wall>) -> Expected {
        match (wall, self.kind.open) {
            (None, _) => Expected::Succeeds,
            (Some(_), None) => Expected::Held,
            (Some(_), Some(_)) => Expected::Open,
        }
    }

    /// Tries all ways against one wall, and judges by another. They differ only in tests of the
    /// suite.
    fn cell(&self, wall: Option<Wall>, judged_as: Option<Wall>) -> Cell {
        let tried = panic::catch_unwind(AssertUnwindSafe(|| {
            let scene = Scene::new(wall);
            let one = |way: &&'static str| {
                scene.reset();
                (*way, (self.tries)(&scene, way))
            };
            let count = if is_whole() { self.ways.len() } else { 1 };
            self.ways.iter().take(count).map(one).collect::<Vec<_>>()
        }));
        let expected = self.expected(judged_as);
        match tried {
            Ok(ways) => Cell::judged(expected, &ways),
            Err(why) => Cell::broken(expected, users::panic_text(&*why)),
        }
    }

    /// Tries it against each wall, after this change of the wall.
    pub(crate) fn tried_with(
        &self,
        user: &str,
        change: impl Fn(Option<Wall>) -> Option<Wall>,
    ) -> Came {
        let left_out = self.is_left_out();
        let cells = left_out.is_none().then(|| WALLS.map(|wall| self.cell(change(wall), wall)));
        Came::new(self, user, left_out, cells)
    }
}

/// Whether all ways are tried. Without that wish it is quick: the first way of each row.
pub(crate) fn is_whole() -> bool {
    env::var_os("WAKEFUL_ATTACK_WHOLE").is_some()
}

/// Runs rows, some beside one another.
pub(crate) fn run(rows: &[&'static Row], user: &str) -> Vec<Came> {
    let (alone, others): (Vec<_>, Vec<_>) = (0..rows.len()).partition(|at| rows[*at].is_alone);
    let came: Mutex<Vec<(usize, Came)>> = Mutex::default();
    let work = |at: usize| {
        let begun = Instant::now();
        let one = rows[at].tried_with(user, |wall| wall);
        eprintln!("attack: {user}: {} ({:.1} s)", one.line(), begun.elapsed().as_secs_f32());
        came.lock().expect("no thread panics with this lock").push((at, one));
    };
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(4);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(at) = others.get(next.fetch_add(1, Ordering::SeqCst)) {
                    work(*at);
                }
            });
        }
    });
    alone.into_iter().for_each(work);
    let mut came = came.into_inner().expect("no thread panics with this lock");
    came.sort_by_key(|(at, _)| *at);
    came.into_iter().map(|(_, one)| one).collect()
}
