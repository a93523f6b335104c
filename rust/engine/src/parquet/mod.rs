//! Sizes of the columns of a Parquet file, read without a library of the format.
//!
//! The metadata of a damaged column ends the process in Arrow's C++, where no exception is caught. These readers refuse
//! what they cannot read, in time that grows with the bytes.
//!
//! Imports no other module of the crate.
//!
//! Source: the Thrift compact protocol, and parquet.thrift of the Apache Parquet format.

mod compact_reader;
mod footer;
mod pages;

pub use footer::{Chunk, footer_size, row_groups};
pub use pages::{PageHeaders, Source};
