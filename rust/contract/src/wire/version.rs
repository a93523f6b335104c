/// The version of the wire contract, independent of package versions.
pub const CONTRACT_VERSION: &str = "1.0";

/// The version that a run states if it uses a field of it.
pub const DAY_ORDERS_VERSION: &str = "1.1";

/// All versions of the wire contract, the latest one last.
pub const CONTRACT_VERSIONS: [&str; 2] = [CONTRACT_VERSION, DAY_ORDERS_VERSION];
