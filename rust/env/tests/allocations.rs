//! A step of a batch allocates no memory: an allocator counts, on all threads.

#![expect(unsafe_code, reason = "an allocator is unsafe to write; this one counts and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use openoutcry::batch::{
    Autoreset, Batch, DictArrays, Market, ObservationArrays, ObservedNames, Outcome, Scale, Settings, SlidingArray,
    Terms,
};
use openoutcry::{
    CostModel, Dataset, EpisodeMarkets, EpisodeWindows, FeatureScope, Limits, Reward, RewardTerms, Window,
};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const N_LANES: usize = 19;
const N_STEPS: usize = 150;
const LOOKBACK: usize = 5;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Flat,
    Sliding,
    Dict,
    Cursor,
}

/// Every array that a step may write to.
struct OutputMemory {
    flat: Vec<f32>,
    sliding_array: SlidingArray,
    rows: Vec<f32>,
    step: usize,
    cells: [Vec<f64>; 3],
    listed: Vec<i8>,
    history: Vec<f64>,
    features: Vec<f64>,
    bars: Vec<i64>,
    account: Vec<f32>,
}

impl OutputMemory {
    fn new(market: &Market, batch: &Batch) -> Self {
        let sliding_array = SlidingArray::new(batch);
        let cells = N_LANES * market.data().n_symbols();
        Self {
            flat: vec![0.0; N_LANES * market.flat_len(LOOKBACK)],
            rows: vec![0.0; N_LANES * sliding_array.row_len()],
            sliding_array,
            step: 0,
            cells: [vec![0.0; cells], vec![0.0; cells], vec![0.0; N_LANES]],
            listed: vec![0; cells],
            history: vec![0.0; cells * LOOKBACK],
            features: vec![0.0; cells * market.n_columns(FeatureScope::Symbol)],
            bars: vec![0; N_LANES],
            account: vec![0.0; cells + N_LANES],
        }
    }

    fn seen(&mut self, kind: Kind) -> ObservationArrays<'_> {
        let [closes, positions, cash] = &mut self.cells;
        match kind {
            Kind::Flat => ObservationArrays::Flat(&mut self.flat),
            Kind::Sliding => {
                self.step += 1;
                let turn = self.step % self.sliding_array.n_turns();
                ObservationArrays::Sliding(self.sliding_array.seen(&mut self.rows, turn))
            }
            Kind::Cursor => ObservationArrays::Cursor { bars: &mut self.bars, account: &mut self.account },
            Kind::Dict => ObservationArrays::Dict(DictArrays {
                closes,
                listed: &mut self.listed,
                positions,
                cash,
                history: &mut self.history,
                features: &mut self.features,
                market_features: &mut [],
            }),
        }
    }
}

fn batch(market: &Arc<Market>, autoreset: Autoreset, (n_threads, streaming_len): (usize, usize)) -> Batch {
    let costs = CostModel { fee_bps: 5.0, slippage_bps: 2.0, impact_bps: 10.0, ..CostModel::zero() };
    let reward_terms =
        RewardTerms::by_names(RewardTerms::NAMES.map(|name| (name, 1.0)), 0.1).expect("a sum of every term");
    let settings = Settings {
        episode_markets: EpisodeMarkets::Fixed,
        windows: vec![EpisodeWindows::Random {
            range: Window { start: 10, end: market.data().n_bars() },
            n_bars: 30,
            split: "train".to_owned(),
        }],
        autoreset,
        reward: Reward::Sum(reward_terms),
        lookback: LOOKBACK,
        no_trade_band: 0.0,
        max_episode_steps: usize::MAX,
        n_threads,
        cells_a_thread: 1,
        streaming_len,
        seed: 1,
    };
    let terms = Terms { costs, limits: Limits::default() };
    Batch::new(vec![Arc::clone(market)], &[(0, terms); N_LANES], settings, 0).expect("a batch")
}

/// Returns the number of allocations in `N_STEPS` steps.
///
/// As many steps run before to warm up.
fn allocations(market: &Arc<Market>, kind: Kind, autoreset: Autoreset, ways: (usize, usize)) -> usize {
    let n_symbols = market.data().n_symbols();
    let mut batch = batch(market, autoreset, ways);
    let (mut memory, mut last) = (OutputMemory::new(market, &batch), OutputMemory::new(market, &batch));
    let mut rewards = vec![0.0; N_LANES];
    let mut flags = [(); 3].map(|()| vec![false; N_LANES]);
    // Gross above 1 in some lanes and shorts in others, so that limits are reported.
    let weight = |cell: usize| (cell % 7) as f32 / n_symbols as f32 - 0.1;
    let actions: Vec<f32> = (0..N_LANES * n_symbols).map(weight).collect();
    let mut began = 0;
    for step in 0..2 * N_STEPS {
        if step == N_STEPS {
            began = ALLOCATIONS.load(Ordering::Relaxed);
        }
        if autoreset == Autoreset::Disabled && (0..N_LANES).any(|lane| batch.is_done(lane)) {
            batch.reset(None, None).expect("a reset");
        }
        let [terminated, truncated, reset] = &mut flags;
        let outcome = Outcome { rewards: &mut rewards, terminated, truncated, reset };
        batch.accept(&actions, None).expect("finite weights");
        batch.step(memory.seen(kind), Some(last.seen(kind)), outcome).expect("a step");
    }
    ALLOCATIONS.load(Ordering::Relaxed) - began
}

// One test: the count of the whole process excludes parallel tests.
#[test]
fn a_step_of_a_batch_takes_no_memory() {
    for (n_symbols, names) in [(4, vec![]), (12, vec![]), (4, vec!["volume".to_owned(), "open".to_owned()])] {
        let data = Arc::new(Dataset::synthetic(n_symbols, 200, 3).expect("a market"));
        let observed = ObservedNames { names, history: Vec::new(), scale: Scale::Expanding };
        let market = Arc::new(Market::observing(data, &observed).expect("columns of the market"));
        for kind in [Kind::Flat, Kind::Sliding, Kind::Dict, Kind::Cursor] {
            for autoreset in [Autoreset::NextStep, Autoreset::SameStep, Autoreset::Disabled] {
                for (n_threads, streaming_len) in [(1, usize::MAX), (1, 0), (2, 0)] {
                    let taken = allocations(&market, kind, autoreset, (n_threads, streaming_len));
                    assert_eq!(taken, 0, "{n_symbols} symbols, {kind:?}, {autoreset:?}, {n_threads} threads");
                }
            }
        }
    }
}
