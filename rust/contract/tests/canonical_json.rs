//! Canonical JSON against the vectors of RFC 8785.

use openoutcry_contract::canonicalize;

macro_rules! vectors {
    ($($name:literal),*) => {
        [$((
            $name,
            include_str!(concat!("../../../contract/vectors/rfc8785/input/", $name, ".json")),
            include_str!(concat!("../../../contract/vectors/rfc8785/output/", $name, ".json")),
        )),*]
    };
}

/// The vectors of the author of the RFC; see the licence next to them.
#[test]
fn the_vectors_of_rfc_8785_come_out_as_they_say() {
    for (name, input, output) in vectors!("arrays", "french", "structures", "unicode", "values", "weird") {
        assert_eq!(canonicalize(input).unwrap(), output, "{name}");
    }
}
