//! Comparison of the header of a record with the settings of its replay.

use openoutcry_contract::CONTRACT_VERSIONS;
use openoutcry_contract::record::{Digest, Fill, Header, Place};
use openoutcry_engine::Dataset;

use crate::replay::capture::{ENGINE_VERSIONS, version_of};
use crate::replay::divergence::{Cause, Difference};
use crate::replay::replay_terms::Terms;

/// Returns the divergences of the header from the settings of the replay.
pub(crate) fn header_differences(data: &Dataset, header: &Header, terms: &Terms<'_>) -> Vec<Difference> {
    let differs = |field, recorded, replayed, cause| Difference {
        place: Place::Header,
        bar: None,
        field,
        recorded,
        replayed,
        ulps: None,
        cause,
    };
    let mut found = Vec::new();
    let (recorded, replayed) = (header.dataset.fingerprint, Digest(data.fingerprint()));
    if recorded != replayed {
        found.push(differs("dataset.fingerprint", recorded.to_string(), replayed.to_string(), Cause::Data));
    }
    found.extend(
        version_differences(header)
            .map(|(field, recorded, replayed)| differs(field, recorded.to_owned(), replayed, Cause::VersionUnknown)),
    );
    let (stated, needed) = (header.contract_version.as_str(), version_of(data, &header.costs, &header.limits));
    if CONTRACT_VERSIONS.contains(&stated) && stated != needed {
        found.push(differs("contract_version", stated.to_owned(), needed.to_owned(), Cause::HeaderEdited));
    }
    let known = terms.markets.iter().find(|market| market.fingerprint == replayed);
    if let Some(market) = known.filter(|market| market.name != header.dataset.name) {
        found.push(differs("dataset.name", header.dataset.name.clone(), market.name.clone(), Cause::MarketName));
    }
    // A record may omit the commitment. A record with a commitment claims that the market was sealed.
    let commitment = known.zip(header.dataset.commitment).map(|(market, recorded)| (recorded, market.commitment));
    if let Some((recorded, replayed)) = commitment.filter(|(recorded, replayed)| *replayed != Some(*recorded)) {
        let cause = if replayed.is_some() { Cause::Data } else { Cause::MarketName };
        let replayed = replayed.map_or("absent".to_owned(), |digest| digest.to_string());
        found.push(differs("dataset.commitment", recorded.to_string(), replayed, cause));
    }
    let wanted = Header {
        costs: terms.costs.unwrap_or(header.costs),
        limits: terms.limits.unwrap_or(header.limits),
        fill: match (header.fill, terms.fill_key) {
            (Fill::Commitment(_), Some(key)) => Fill::Commitment(Digest(key.commitment())),
            (fill, _) => fill,
        },
        ..header.clone()
    };
    for ((field, recorded), (_, replayed)) in header.fields().into_iter().zip(wanted.fields()) {
        if recorded != replayed {
            found.push(differs(field, recorded, replayed, Cause::Rules));
        }
    }
    found
}

/// Returns the versions of a header that were never released.
///
/// Each with the released ones.
fn version_differences(header: &Header) -> impl Iterator<Item = (&'static str, &str, String)> {
    let versions = [
        ("engine_version", &header.engine_version, &ENGINE_VERSIONS[..]),
        ("contract_version", &header.contract_version, &CONTRACT_VERSIONS[..]),
    ];
    let unknown = versions.into_iter().filter(|(_, recorded, known)| !known.contains(&recorded.as_str()));
    unknown.map(|(field, recorded, known)| (field, recorded.as_str(), known.join(", ")))
}
