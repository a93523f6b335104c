//! Market data: columns, CSV, validation, fingerprints and the tables of a step.
//!
//! Imports `error` and `vector`. Knows no account, no order and no cost.

pub(crate) mod as_of;
pub(crate) mod bar_counts;
pub(crate) mod bar_fields;
pub(crate) mod bar_frequency;
pub(crate) mod columns;
pub(crate) mod corporate_actions;
pub(crate) mod csv_grammar;
pub(crate) mod csv_long;
pub(crate) mod csv_reader;
pub(crate) mod csv_wide;
pub(crate) mod dataset;
pub(crate) mod dataset_columns;
pub(crate) mod date;
pub(crate) mod day_numbers;
pub(crate) mod distinct_names;
pub(crate) mod empty_cells;
pub(crate) mod feature_columns;
pub(crate) mod fill_prices;
pub(crate) mod fingerprint;
pub(crate) mod grid;
pub(crate) mod long_rows;
pub(crate) mod market_bytes;
pub(crate) mod market_tables;
pub(crate) mod open_basis;
pub(crate) mod plain_number;
pub(crate) mod price_jumps;
pub(crate) mod range_checks;
pub(crate) mod row_keys;
pub(crate) mod row_lines;
pub(crate) mod sheet_cells;
pub(crate) mod sheet_numbers;
pub(crate) mod sheet_reader;
pub(crate) mod sheet_strings;
pub(crate) mod sheet_xml;
pub(crate) mod shown_numbers;
pub(crate) mod silent_volume;
pub(crate) mod size_limits;
pub(crate) mod split_checks;
pub(crate) mod synthetic;
pub(crate) mod text_columns;
pub(crate) mod user_market;
pub(crate) mod validation;
pub(crate) mod week;
pub(crate) mod window;
