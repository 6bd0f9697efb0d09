//! Two things in turns, so that what disturbs one disturbs the other.

use std::time::{Duration, Instant};

/// Does both `rounds` times in turns, after a tenth of it uncounted; gives the times of each.
pub fn in_turns<A, B>(
    rounds: usize,
    mut ours: impl FnMut() -> A,
    mut baseline: impl FnMut() -> B,
) -> [Vec<Duration>; 2] {
    let mut times = [Vec::with_capacity(rounds), Vec::with_capacity(rounds)];
    for round in 0..rounds + rounds.div_ceil(10) {
        let ours = time(&mut ours);
        let baseline = time(&mut baseline);
        if round >= rounds.div_ceil(10) {
            times[0].push(ours);
            times[1].push(baseline);
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
