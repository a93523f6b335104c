//! Whole account blocks with one lane that differs.

use std::sync::Arc;

use openoutcry::batch::{Autoreset, Batch, Market, ObservationArrays, Outcome, Settings, SlidingArray, Terms};
use openoutcry::{Columns, CostModel, Dataset, EpisodeMarkets, EpisodeWindows, FillKey, Limits, Reward, Window};
use openoutcry_engine::{Book, Detail, Rules, Workspace, step_once};

const N_LANES: usize = 8;
const N_BARS: usize = 20;
const TERMS: Terms = Terms { costs: CostModel::zero(), limits: Limits::off() };

fn market(n_symbols: usize) -> Arc<Market> {
    let close = (0..N_BARS * n_symbols).map(|cell| 1.0 + (cell * 7 % 11) as f64 / 1000.0).collect();
    let dates = (0..N_BARS).map(|bar| format!("2001-01-{:02}", 1 + bar)).collect();
    let symbols = (0..n_symbols).map(|i| format!("S{i}")).collect();
    let columns = Columns { dates, symbols, close, periods_per_year: 252.0, ..Columns::default() };
    Arc::new(Market::new(Arc::new(Dataset::new(columns).unwrap())))
}

fn batch(market: &Arc<Market>, lookback: usize) -> Batch {
    let settings = Settings {
        windows: vec![EpisodeWindows::Fixed(Window { start: 0, end: N_BARS })],
        episode_markets: EpisodeMarkets::Fixed,
        autoreset: Autoreset::NextStep,
        reward: Reward::Simple,
        lookback,
        no_trade_band: 0.0,
        max_episode_steps: usize::MAX,
        n_threads: 1,
        cells_a_thread: 1,
        streaming_len: usize::MAX,
        seed: 0,
    };
    Batch::new(vec![Arc::clone(market)], &[(0, TERMS); N_LANES], settings, 0).unwrap()
}

fn step(batch: &mut Batch, actions: &[f64], seen: ObservationArrays<'_>) {
    let (mut rewards, mut flags) = ([0.0; N_LANES], [[false; N_LANES]; 3]);
    let [terminated, truncated, reset] = &mut flags;
    batch.accept(actions, None).unwrap();
    batch.step(seen, None, Outcome { rewards: &mut rewards, terminated, truncated, reset }).unwrap();
}

#[test]
fn an_order_out_of_range_is_refused_in_a_pack_as_it_is_alone() {
    for n_symbols in [1, 3, 4, 5, 8] {
        let market = market(n_symbols);
        let mut batch = batch(&market, 2);
        let rules = Rules::new(TERMS.costs, TERMS.limits, FillKey::from_seed(0)).unwrap();
        let mut books = vec![Book::new(market.data(), 0); N_LANES];
        let mut workspace = Workspace::new(n_symbols, Detail::Full);
        let mut seen = vec![0.0; N_LANES * market.flat_len(2)];
        for bar in 0..6 {
            // Within the range, beyond it by a rounding, and by more; each lane holds more.
            let large = [1.0, 100.5, 30.0, 100.0_f64.next_up(), -100.5, 1.0][bar];
            let order = |lane: usize, symbol: usize| {
                let usual = 0.01 * (lane + 1) as f64;
                if symbol == lane % n_symbols { large } else { usual }
            };
            let actions: Vec<f64> =
                (0..N_LANES).flat_map(|lane| (0..n_symbols).map(move |symbol| order(lane, symbol))).collect();
            step(&mut batch, &actions, ObservationArrays::Flat(&mut seen));
            for (lane, book) in books.iter_mut().enumerate() {
                let orders = &actions[lane * n_symbols..][..n_symbols];
                step_once(market.data(), &rules, book, orders, &mut workspace).unwrap();
                assert_eq!(
                    batch.nav(lane).to_bits(),
                    book.nav().to_bits(),
                    "{n_symbols} symbols, bar {bar}, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn a_lane_that_begins_anew_in_a_whole_pack_is_shown_its_own_window() {
    for (n_symbols, lookback) in [(4, 2), (4, 5), (8, 3), (8, 20), (5, 4)] {
        for late in 0..N_LANES {
            let market = market(n_symbols);
            let mut batch = batch(&market, lookback);
            let (len, strip) = (market.flat_len(lookback), SlidingArray::new(&batch));
            let (row_len, n_turns) = (strip.row_len(), strip.n_turns());
            let (mut pair, mut arrays) = ([strip.clone(), strip], [(); 2].map(|()| vec![f32::NAN; N_LANES * row_len]));
            let actions = vec![0.1; N_LANES * n_symbols];
            for k in 0..12 {
                if k == 5 {
                    batch.reset(None, Some(&std::array::from_fn::<_, N_LANES, _>(|lane| lane == late))).unwrap();
                }
                let (which, turn) = (k % 2, k / 2 % n_turns);
                let begin = pair[which].begin(turn);
                step(&mut batch, &actions, ObservationArrays::Sliding(pair[which].seen(&mut arrays[which], turn)));
                let shown: Vec<f32> =
                    arrays[which].chunks(row_len).flat_map(|row| row[begin..begin + len].to_vec()).collect();
                let mut expected = vec![0.0; N_LANES * len];
                batch.observe(ObservationArrays::Flat(&mut expected)).unwrap();
                assert_eq!(shown, expected, "{n_symbols} symbols, {lookback} bars, lane {late}, step {k}");
            }
        }
    }
}
