//! The canonical bytes of a market: a round trip, and no second encoding.

use openoutcry_engine::Dataset;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::random_market::{cases, config};

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn a_market_read_from_its_bytes_is_the_same(case in cases()) {
        let market = case.dataset();
        let bytes = market.to_bytes();
        let read = Dataset::from_bytes(&bytes).unwrap();
        prop_assert_eq!(read.fingerprint(), market.fingerprint());
        prop_assert_eq!(read.to_bytes(), bytes);
        prop_assert_eq!(read.dates(), market.dates());
        prop_assert_eq!(read.news().collect::<Vec<_>>(), market.news().collect::<Vec<_>>());
        for name in ["close", "open", "volume", "dividends", "splits", "tradable", "delistings"] {
            let bits = |market: &Dataset| market.column(name).map(|values| values.into_iter().map(f64::to_bits).collect());
            let (before, after): (Option<Vec<u64>>, Option<Vec<u64>>) = (bits(&market), bits(&read));
            prop_assert_eq!(before, after, "{}", name);
        }
    }

    #[test]
    fn bytes_that_were_changed_or_cut_are_no_market_or_another(case in cases(), place: Index, bit in 0..8_u32) {
        let market = case.dataset();
        let (mut changed, bytes) = (market.to_bytes(), market.to_bytes());
        let place = place.index(bytes.len());
        changed[place] ^= 1 << bit;
        for bytes in [&changed, &bytes[..place]] {
            match Dataset::from_bytes(bytes) {
                Ok(read) => prop_assert_ne!(read.fingerprint(), market.fingerprint()),
                Err(error) => prop_assert_ne!(error.slug(), ""),
            }
        }
    }
}
