//! A model checker over the real [`step`](crate::machine::step) and [`plan`](crate::plan), in a small
//! cluster.
//!
//! [`world`] is the cluster with its possible events, [`ghost`] contains the properties to check. Small
//! configurations are explored exhaustively, larger ones by random schedules. After each schedule, all faults
//! except those of the base stop and the cluster has to reach a stable state.

mod ghost;
mod world;

use std::time::Duration;

use ghost::names;
use jiff::SignedDuration;
use stateright::{Checker, Model, Property};
use world::{
    ALIASES, Budget, COLD, DELEGATION, EMPTY_GROUP, GROUPS, LOSSES, PAUSES, Parts, REFUSALS, REPLACE, Spec,
    Step, World,
};

use crate::effective::ParseCache;
use crate::planted::{PlantedFault, plant};
use yunikorn::version::Version;

/// Steps within which all comes to rest once nothing happens any more.
const PATIENCE: usize = 400;
/// The maximal number of writes of the output until then.
const MOST_WRITES: u16 = 12;

/// A cluster, and a fault that is planted in the code.
struct Cluster {
    replicas: usize,
    budget: Budget,
    has: Parts,
    planted: Option<PlantedFault>,
}

impl Cluster {
    /// A cluster where the operator has run before.
    fn installed(&self) -> World {
        let mut cache = ParseCache::new(Version::V1_8);
        let mut world =
            rest(World::new(self.replicas, self.budget, self.has), &mut cache).expect("a new cluster");
        world.take(Step::Crash(0), &mut cache);
        world.budget = self.budget;
        world
    }
}

thread_local! {
    static CACHE: std::cell::RefCell<ParseCache> = std::cell::RefCell::new(ParseCache::new(Version::V1_8));
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

/// Lets everything come to rest while nothing fails any more, and returns what does not hold then.
fn rest(mut world: World, cache: &mut ParseCache) -> Result<World, &'static str> {
    let mut writes = 0;
    let mut asleep = 0;
    world.budget = Budget { changes: 0, faults: 0, ticks: 0 };
    // The operator waits before it takes a text for refused, and before it tries that again.
    let until = world.clock + SignedDuration::from_mins(5);
    if !world.replicas.iter().any(|replica| replica.leads) {
        world.take(Step::Win(0), cache);
    }
    for _ in 0..PATIENCE {
        let mut steps = Vec::new();
        world.steps(&mut steps);
        // A scheduler loads before it is queried.
        steps.sort_by_key(|step| !matches!(step, Step::SchedulerLoads));
        let step = steps.into_iter().find(|step| !matches!(step, Step::Win(_)));
        match step {
            Some(step) => {
                writes += u16::from(matches!(step, Step::Write(_)));
                world.take(step, cache);
                asleep = 0;
            }
            None if (asleep < 3 || world.clock < until && settled(&world).is_some())
                && world.sleep(cache) =>
            {
                asleep += 1;
            }
            None => return if writes > MOST_WRITES { Err("it writes without end") } else { Ok(world) },
        }
    }
    Err("it does not come to rest")
}

/// Returns what does not hold of a cluster that has come to rest.
fn settled(world: &World) -> Option<&'static str> {
    if world.ghost.wrong.is_some() {
        return world.ghost.wrong;
    }
    let shadowed = world.held.output.as_ref().is_some_and(|output| !output.binary.is_empty());
    let (declared, runs) = (world.ghost.declared(), names(&world.runs));
    if runs & !declared != 0 && !shadowed && !world.is_out_of_reach() {
        return Some("a withdrawal did not get through");
    }
    let valid = world.held.objects.iter().flatten().all(|object| object.spec != Spec::Typo);
    if declared & !runs != 0 && valid && world.is_whole() {
        return Some("a grant did not get through");
    }
    None
}

/// A pseudo-random schedule that its number replays.
fn schedule(cluster: &Cluster, number: u64, length: usize) -> Result<(), (Vec<Step>, &'static str)> {
    let mut random = fastrand::Rng::with_seed(number);
    let mut world = cluster.installed();
    world.has &= random.u16(..);
    let (mut taken, mut steps) = (Vec::new(), Vec::new());
    let mut cache = ParseCache::new(Version::V1_8);
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
                if broken.is_some() || world.is_whole() {
                    break 'found broken;
                }
                world.heal(&mut cache);
                rest(world, &mut cache).map_or_else(Some, |world| settled(&world))
            }
            Err(wrong) => Some(wrong),
        }
    };
    plant(None);
    found.map_or(Ok(()), |wrong| Err((taken, wrong)))
}

/// Runs schedules on two threads; returns about `most` of the schedules that reveal a problem.
fn schedules(cluster: &Cluster, numbers: std::ops::Range<u64>, length: usize, most: usize) -> Vec<String> {
    let halves = [numbers.clone().step_by(2), (numbers.start + 1..numbers.end).step_by(2)];
    std::thread::scope(|scope| {
        let threads = halves.map(|numbers| {
            scope.spawn(move || {
                let found = numbers.filter_map(|number| {
                    let (taken, wrong) = schedule(cluster, number, length).err()?;
                    Some(format!("schedule {number}: {wrong}\n{taken:?}"))
                });
                found.take(most).collect::<Vec<_>>()
            })
        });
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
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

fn small(changes: u8, faults: u8, ticks: u8, has: Parts) -> Cluster {
    Cluster { replicas: 1, budget: Budget { changes, faults, ticks }, has, planted: None }
}

/// Two replicas, and all parts except the empty policy group. If the queues' key is missing as well, the
/// built-in default does not prove either key, and a scheduler here may take longer to load a text than the
/// operator waits.
fn random(planted: Option<PlantedFault>) -> Cluster {
    Cluster { replicas: 2, budget: Budget { changes: 6, faults: 5, ticks: 2 }, has: !EMPTY_GROUP, planted }
}

/// The faults that the checker has to find.
const PLANTED: [PlantedFault; 14] = [
    PlantedFault::WithdrawalsWait,
    PlantedFault::KeptByStatusAlone,
    PlantedFault::BuiltInDefault,
    PlantedFault::NoRelist,
    PlantedFault::NoFence,
    PlantedFault::UnprovenReady,
    PlantedFault::UnwrittenNarrowing,
    PlantedFault::UnprovenEnd,
    PlantedFault::DataAlone,
    PlantedFault::DelegationLasts,
    PlantedFault::GroupAtOnce,
    PlantedFault::RefusalUnnoticed,
    PlantedFault::AliasesReplace,
    PlantedFault::AliasesForget,
];

#[test]
fn small_clusters_do_what_must_hold() {
    for has in [0, REFUSALS | COLD | PAUSES, REPLACE | DELEGATION, GROUPS | LOSSES, REPLACE | ALIASES] {
        let (states, found) = explore(small(2, 1, 1, has), 8_000, Duration::from_secs(20));
        assert_eq!(found, None, "{has}");
        assert!(states > 1000, "{has}: {states}");
    }
}

#[test]
fn random_schedules_do_what_must_hold() {
    assert_eq!(schedules(&random(None), 0..3_000, 60, 5), [""; 0]);
}

#[test]
fn planted_faults_are_found() {
    let missed: Vec<_> = PLANTED
        .into_iter()
        .filter(|fault| schedules(&random(Some(*fault)), 0..5_000, 60, 1).is_empty())
        .collect();
    assert_eq!(missed, []);
}

/// Takes the steps of a schedule that showed something wrong once.
fn replay(steps: impl IntoIterator<Item = Step>) {
    let mut world = small(2, 2, 1, 0).installed();
    for step in steps {
        world.take(step, &mut ParseCache::new(Version::V1_8));
    }
    assert_eq!(world.ghost.wrong, None);
}

#[test]
fn no_end_is_reported_while_a_hidden_text_grants_it() {
    use Step::{Loaded, OtherShadows, Relist, Report, SchedulerLoads, Set, Tick, Watch, Win, Write};
    let before = [Set(1, Spec::Temporary("eve")), OtherShadows(true), Win(0), Relist(0), Tick, Write(0)];
    let after = [SchedulerLoads, OtherShadows(false), Loaded(0), Report(0)];
    let later = [Watch(0), SchedulerLoads, Write(0), Loaded(0), Report(0)];
    replay(before.into_iter().chain(after).chain(later));
}

#[test]
fn no_end_is_reported_while_more_is_written_than_should_be() {
    use Step::{Loaded, Relist, Report, SchedulerLoads, Set, StatusesLost, Tick, Watch, Win, Write};
    let before = [Set(1, Spec::Users("bob")), Win(0), Relist(0), Write(0), Loaded(0), Report(0)];
    let after = [
        Set(1, Spec::Temporary("eve")),
        StatusesLost,
        Tick,
        Watch(0),
        Write(0),
        SchedulerLoads,
        Loaded(0),
        Report(0),
    ];
    replay(before.into_iter().chain(after));
}

/// A million schedules: a part of `just model`.
#[test]
#[ignore = "half an hour"]
fn everything_at_random_does_what_must_hold() {
    assert_eq!(schedules(&random(None), 0..1_000_000, 60, 5), [""; 0]);
}

/// Ten million states and more: a part of `just model`.
#[test]
#[ignore = "half an hour"]
fn everything_in_small_clusters_does_what_must_hold() {
    let mut all = 0;
    for (changes, faults, ticks, has) in [
        (3, 2, 1, !EMPTY_GROUP),
        (2, 2, 1, 0),
        (2, 1, 2, REFUSALS | COLD | PAUSES),
        (2, 1, 1, REPLACE | DELEGATION),
        (1, 2, 1, GROUPS),
        (2, 1, 1, LOSSES),
        (2, 2, 1, REPLACE | ALIASES),
    ] {
        let cluster = small(changes, faults, ticks, has);
        let (states, found) = explore(cluster, 4_000_000, Duration::from_mins(6));
        println!("{changes} changes, {faults} faults, {ticks} ticks, parts {has}: {states} states");
        assert_eq!(found, None);
        all += states;
    }
    assert!(all >= 10_000_000, "{all} states");
}
