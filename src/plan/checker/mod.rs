//! A model checker over the real [`step`](super::machine::step) and [`plan`](super::plan), in a small cluster.
//!
//! [`world`] is the cluster and what may happen in it, [`ghost`] what must hold. Small configurations are explored exhaustively, larger
//! ones by random schedules, after each of which all faults but those of the base stop and everything has to come to rest.

mod ghost;
mod world;

use std::time::Duration;

use stateright::{Checker, Model, Property};

use super::Readings;
use super::planted::{Fault, plant};
use ghost::{DEV, Names, names};
use world::{BaseIs, Budget, Spec, Step, World};

/// Steps within which all comes to rest once nothing happens any more.
const PATIENCE: usize = 400;
/// Writes of the output that may take.
const MOST_WRITES: u16 = 12;

/// A cluster, and a fault that is planted in the code.
struct Cluster {
    replicas: usize,
    budget: Budget,
    planted: Option<Fault>,
}

impl Cluster {
    /// A cluster in which the operator has run before.
    fn installed(&self) -> World {
        let mut cache = Readings::default();
        let mut world = rest(World::new(self.replicas, self.budget), &mut cache).expect("a new cluster");
        world.take(Step::Crash(0), &mut cache);
        world.budget = self.budget;
        world
    }
}

thread_local! {
    static CACHE: std::cell::RefCell<Readings> = std::cell::RefCell::default();
}

impl Model for Cluster {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.installed()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        world.steps(actions);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        plant(self.planted);
        let mut world = world.clone();
        CACHE.with(|cache| world.take(step, &mut cache.borrow_mut()));
        plant(None);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("what must hold holds", |_, world: &World| world.ghost.wrong.is_none())]
    }
}

/// Lets everything come to rest while nothing fails any more, and tells what does not hold then.
fn rest(mut world: World, cache: &mut Readings) -> Result<World, &'static str> {
    let mut writes = 0;
    let mut asleep = 0;
    world.budget = Budget { changes: 0, faults: 0, ticks: 0 };
    if !world.replicas.iter().any(|replica| replica.leads) {
        world.take(Step::Win(0), cache);
    }
    for _ in 0..PATIENCE {
        let mut steps = Vec::new();
        world.steps(&mut steps);
        // A scheduler loads before it is asked.
        steps.sort_by_key(|step| !matches!(step, Step::SchedulerLoads));
        let step = steps.into_iter().find(|step| !matches!(step, Step::Win(_)));
        match step {
            Some(step) => {
                writes += u16::from(matches!(step, Step::Write(_)));
                world.take(step, cache);
                asleep = 0;
            }
            None if asleep < 3 && world.sleep(cache) => asleep += 1,
            None => return if writes > MOST_WRITES { Err("it writes without end") } else { Ok(world) },
        }
    }
    Err("it does not come to rest")
}

/// Returns what does not hold of a cluster that has come to rest.
fn settled(world: &World) -> Option<&'static str> {
    let declared = world.ghost.declared();
    let runs = names(&world.runs);
    if world.ghost.wrong.is_some() {
        return world.ghost.wrong;
    }
    let shadowed = world.held.output.as_ref().is_some_and(|output| !output.binary.is_empty());
    if shadowed {
        return None;
    }
    if runs & !declared != 0 {
        return Some("a withdrawal did not get through");
    }
    if world.held.base != BaseIs::Good {
        return None;
    }
    let missing: Names = declared & !runs & !DEV;
    let valid = world.held.objects.iter().flatten().all(|object| object.spec != Spec::Typo);
    if missing != 0 && valid {
        return Some("a grant did not get through");
    }
    None
}

/// A pseudo-random schedule that its number replays.
fn schedule(cluster: &Cluster, number: u64, length: usize) -> Result<(), (Vec<Step>, &'static str)> {
    let mut random = fastrand::Rng::with_seed(number);
    let mut world = cluster.installed();
    let (mut taken, mut steps) = (Vec::new(), Vec::new());
    let mut cache = Readings::default();
    plant(cluster.planted);
    let found = 'found: {
        for _ in 0..length {
            steps.clear();
            world.steps(&mut steps);
            let Some(step) = random.choice(&steps).copied() else { break };
            world.take(step, &mut cache);
            taken.push(step);
            if let Some(wrong) = world.ghost.wrong {
                break 'found Some(wrong);
            }
        }
        match rest(world, &mut cache) {
            Ok(mut world) => {
                let broken = settled(&world);
                if broken.is_some() || world.held.base == BaseIs::Good {
                    break 'found broken;
                }
                world.take(Step::Base(BaseIs::Good), &mut cache);
                rest(world, &mut cache).map_or_else(Some, |world| settled(&world))
            }
            Err(wrong) => Some(wrong),
        }
    };
    plant(None);
    found.map_or(Ok(()), |wrong| Err((taken, wrong)))
}

/// Runs schedules on two threads; the first that shows something wrong.
fn schedules(cluster: &Cluster, numbers: std::ops::Range<u64>, length: usize) -> Option<String> {
    let halves = [numbers.clone().step_by(2), (numbers.start + 1..numbers.end).step_by(2)];
    std::thread::scope(|scope| {
        let threads = halves.map(|mut numbers| {
            scope.spawn(move || {
                numbers.find_map(|number| Some((number, schedule(cluster, number, length).err()?)))
            })
        });
        let found =
            threads.map(|thread| thread.join().unwrap()).into_iter().flatten().min_by_key(|found| found.0);
        found.map(|(number, (taken, wrong))| format!("schedule {number}: {wrong}\n{taken:#?}"))
    })
}

fn explore(cluster: Cluster, states: usize, time: Duration) -> (usize, Option<String>) {
    let checker = cluster.checker().threads(2).target_state_count(states).timeout(time).spawn_bfs().join();
    let found = checker.discovery("what must hold holds");
    (
        checker.unique_state_count(),
        found.map(|path| {
            let wrong = path.last_state().ghost.wrong.unwrap_or_default();
            format!("{wrong}\n{:#?}", path.into_actions())
        }),
    )
}

fn small(changes: u8, faults: u8, ticks: u8) -> Cluster {
    Cluster { replicas: 1, budget: Budget { changes, faults, ticks }, planted: None }
}

fn random(planted: Option<Fault>) -> Cluster {
    Cluster { replicas: 2, budget: Budget { changes: 6, faults: 5, ticks: 1 }, planted }
}

/// The faults that the checker has to find.
const PLANTED: [Fault; 9] = [
    Fault::WithdrawalsWait,
    Fault::KeptByStatusAlone,
    Fault::BuiltInDefault,
    Fault::NoRelist,
    Fault::NoFence,
    Fault::UnprovenReady,
    Fault::UnwrittenNarrowing,
    Fault::UnprovenEnd,
    Fault::DataAlone,
];

#[test]
fn small_clusters_do_what_must_hold() {
    let (states, found) = explore(small(2, 1, 1), 20_000, Duration::from_mins(1));
    assert_eq!(found, None);
    assert!(states > 1000, "{states}");
}

#[test]
fn random_schedules_do_what_must_hold() {
    assert_eq!(schedules(&random(None), 0..5_000, 60), None);
}

#[test]
fn planted_faults_are_found() {
    let missed: Vec<_> = PLANTED
        .into_iter()
        .filter(|fault| schedules(&random(Some(*fault)), 0..5_000, 60).is_none())
        .collect();
    assert_eq!(missed, []);
}

/// Ten million states and a million schedules: `just model`.
#[test]
#[ignore = "an hour"]
fn everything_in_reach_does_what_must_hold() {
    for (changes, faults, ticks) in [(1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 2, 1)] {
        let (states, found) = explore(small(changes, faults, ticks), 10_000_000, Duration::from_mins(25));
        println!("{changes} changes, {faults} faults, {ticks} ticks: {states} states");
        assert_eq!(found, None);
    }
    assert_eq!(schedules(&random(None), 0..1_000_000, 60), None);
}
