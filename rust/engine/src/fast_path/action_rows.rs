//! Conversion of action arrays to rows of f64 orders.

use pulp::{Simd, WithSimd};

use crate::account::workspace::Workspace;
use crate::vector::lane_sums::LANES;

/// Writes rows of actions as f64, `stride` apart.
///
/// Returns whether all are finite. The stride is the number of symbols, or [`BlockOrders::stride`].
///
/// [`BlockOrders::stride`]: crate::BlockOrders::stride
pub fn widen_rows<T: Copy + Into<f64>>(
    actions: &[T],
    n_symbols: usize,
    orders: &mut [f64],
    stride: usize,
    workspace: &Workspace,
) -> bool {
    workspace.arch.dispatch(Widen { actions, n_symbols, orders, stride })
}

/// Compiled for the vector instructions of the CPU; the result is the same for all.
struct Widen<'w, T> {
    actions: &'w [T],
    n_symbols: usize,
    orders: &'w mut [f64],
    stride: usize,
}

impl<T: Copy + Into<f64>> WithSimd for Widen<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { actions, n_symbols, orders, stride } = self;
        match n_symbols {
            _ if n_symbols == stride => widen(actions, orders),
            1 => widen_short::<T, 1, 4>(actions, orders),
            2 => widen_short::<T, 2, 4>(actions, orders),
            3 => widen_short::<T, 3, 4>(actions, orders),
            5 => widen_short::<T, 5, LANES>(actions, orders),
            6 => widen_short::<T, 6, LANES>(actions, orders),
            7 => widen_short::<T, 7, LANES>(actions, orders),
            _ => {
                let rows = actions.chunks_exact(n_symbols).zip(orders.chunks_exact_mut(stride));
                rows.fold(true, |finite, (actions, orders)| widen(actions, &mut orders[..n_symbols]) && finite)
            }
        }
    }
}

/// Writes rows of `N` actions as f64, `STRIDE` apart.
///
/// Returns whether all are finite.
#[inline(always)]
fn widen_short<T: Copy + Into<f64>, const N: usize, const STRIDE: usize>(actions: &[T], orders: &mut [f64]) -> bool {
    // Only a finite number times 0 is 0. Independent sums do not wait for each other.
    let mut faults = [0.0; N];
    for (orders, actions) in orders.as_chunks_mut::<STRIDE>().0.iter_mut().zip(actions.as_chunks::<N>().0) {
        let weights: [f64; N] = actions.map(Into::into);
        *orders.first_chunk_mut().expect("no more symbols than places") = weights;
        faults = std::array::from_fn(|k| faults[k] + weights[k] * 0.0);
    }
    faults.iter().sum::<f64>() == 0.0
}

/// Writes actions as f64 and returns whether all are finite.
#[inline(always)]
fn widen<T: Copy + Into<f64>>(actions: &[T], orders: &mut [f64]) -> bool {
    let whole = actions.len() / LANES * LANES;
    let mut fault = 0.0;
    for (order, action) in orders[whole..].iter_mut().zip(&actions[whole..]) {
        *order = (*action).into();
        fault += *order * 0.0;
    }
    widen_short::<T, LANES, LANES>(&actions[..whole], &mut orders[..whole]) && fault == 0.0
}
