//! Actions as they are asked for, widened to f64.

use openoutcry_engine::lanes::LANES;

/// Writes rows of actions as f64, `stride` apart.
///
/// Returns whether all are finite.
pub(super) fn widen_rows<T: Copy + Into<f64>>(
    actions: &[T],
    n_symbols: usize,
    orders: &mut [f64],
    stride: usize,
) -> bool {
    match n_symbols {
        1 if stride == LANES => widen_short::<T, 1>(actions, orders),
        2 if stride == LANES => widen_short::<T, 2>(actions, orders),
        3 if stride == LANES => widen_short::<T, 3>(actions, orders),
        4 if stride == LANES => widen_short::<T, 4>(actions, orders),
        5 if stride == LANES => widen_short::<T, 5>(actions, orders),
        6 if stride == LANES => widen_short::<T, 6>(actions, orders),
        7 if stride == LANES => widen_short::<T, 7>(actions, orders),
        _ => widen(actions, orders),
    }
}

/// Writes rows of `N` actions as blocks of f64, and returns whether all are finite.
fn widen_short<T: Copy + Into<f64>, const N: usize>(actions: &[T], orders: &mut [f64]) -> bool {
    let mut faults = [0.0; N];
    for (orders, actions) in orders.as_chunks_mut::<LANES>().0.iter_mut().zip(actions.as_chunks::<N>().0) {
        let weights: [f64; N] = actions.map(Into::into);
        *orders.first_chunk_mut().expect("at most eight symbols") = weights;
        faults = std::array::from_fn(|k| faults[k] + weights[k] * 0.0);
    }
    faults.iter().sum::<f64>() == 0.0
}

/// Writes actions as f64 and returns whether all are finite.
fn widen<T: Copy + Into<f64>>(actions: &[T], orders: &mut [f64]) -> bool {
    // A finite number times 0 is 0, and no other is; sums side by side wait for none but their own.
    let mut faults = [0.0; LANES];
    let (blocks, rest) = orders.as_chunks_mut::<LANES>();
    let (action_blocks, action_rest) = actions.as_chunks::<LANES>();
    for (orders, actions) in blocks.iter_mut().zip(action_blocks) {
        for k in 0..LANES {
            orders[k] = actions[k].into();
            faults[k] += orders[k] * 0.0;
        }
    }
    for (order, action) in rest.iter_mut().zip(action_rest) {
        *order = (*action).into();
        faults[0] += *order * 0.0;
    }
    faults.iter().sum::<f64>() == 0.0
}
