//! Two or three things in turns, so that what disturbs one disturbs the others.

use std::time::{Duration, Instant};

/// Does both `rounds` times in turns, after a tenth of it uncounted; gives the times of each.
pub fn in_turns<A, B>(rounds: usize, ours: impl FnMut() -> A, baseline: impl FnMut() -> B) -> [Vec<Duration>; 2] {
    let [ours, baseline, _] = three_in_turns(rounds, ours, baseline, || ());
    [ours, baseline]
}

/// The same with a third thing.
pub fn three_in_turns<A, B, C>(
    rounds: usize,
    mut ours: impl FnMut() -> A,
    mut baseline: impl FnMut() -> B,
    mut third: impl FnMut() -> C,
) -> [Vec<Duration>; 3] {
    let mut times = [const { Vec::new() }; 3];
    for round in 0..rounds + rounds.div_ceil(10) {
        let of_round = [time(&mut ours), time(&mut baseline), time(&mut third)];
        if round >= rounds.div_ceil(10) {
            times.iter_mut().zip(of_round).for_each(|(times, time)| times.push(time));
        }
    }
    times
}

/// The median of some times.
pub fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted[sorted.len() / 2]
}

fn time<T>(work: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    let result = std::hint::black_box(work());
    let time = start.elapsed();
    // What the work leaves behind ends uncounted.
    drop(result);
    time
}
