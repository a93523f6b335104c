//! Names of the fields of a bar, which are no symbols.

use std::collections::BTreeMap;

/// Names in lower case without marks. Each is also a ticker, or may be.
const FIELDS: [&str; 15] = [
    "open",
    "high",
    "low",
    "close",
    "volume",
    "vol",
    "price",
    "last",
    "settle",
    "closelast",
    "adjclose",
    "adjustedclose",
    "closeadj",
    "prc",
    "vwap",
];
/// Words of a name that are a field of a symbol.
const OF_SYMBOL: [&str; 5] = ["close", "open", "high", "low", "volume"];
const INITIALS: [&str; 4] = ["o", "h", "l", "c"];

/// Returns whether columns are fields of one bar instead of symbols.
///
/// One such name among others can be a ticker; two cannot.
pub(crate) fn are_one_bar(names: &[String]) -> bool {
    let simple: Vec<String> =
        names.iter().map(|name| name.chars().filter(char::is_ascii_alphanumeric).collect()).collect();
    let is_among = |known: &&str| simple.iter().any(|name| name.eq_ignore_ascii_case(known));
    FIELDS.iter().filter(|known| is_among(known)).count() > 1 || INITIALS.iter().all(is_among)
}

/// Returns two columns that are fields of one symbol.
///
/// Such as `AAPL_Open` and `AAPL_Close`. A close and another field are needed, or three fields: `LOW US` and `OPEN US` are tickers.
pub(crate) fn fields_of_symbol(names: &[String]) -> Option<(&str, &str)> {
    let mut found: BTreeMap<String, Vec<(&str, &str)>> = BTreeMap::new();
    for name in names {
        let lower = name.to_ascii_lowercase();
        let words: Vec<&str> = lower.split(|mark: char| !mark.is_alphanumeric()).collect();
        let is_field = |word: &&str| OF_SYMBOL.contains(word);
        let Some(field) = OF_SYMBOL.into_iter().find(|field| words.contains(field)) else { continue };
        let symbol: Vec<&str> = words.into_iter().filter(|word| !is_field(word)).collect();
        let fields = found.entry(symbol.join(" ")).or_default();
        if fields.iter().all(|(known, _)| *known != field) {
            fields.push((field, name));
        }
    }
    let is_bar = |fields: &&Vec<(&str, &str)>| {
        fields.len() > 2 || (fields.len() == 2 && fields.iter().any(|(field, _)| *field == "close"))
    };
    found.values().find(is_bar).map(|fields| (fields[0].1, fields[1].1))
}

#[cfg(test)]
mod tests {
    use super::{are_one_bar, fields_of_symbol};

    #[test]
    fn columns_of_a_symbol_and_a_field_are_no_symbols() {
        let found = |text: &str| {
            let names: Vec<String> = text.split(',').map(str::to_owned).collect();
            fields_of_symbol(&names).map(|(first, second)| format!("{first},{second}"))
        };
        assert_eq!(found("AAPL_Open,AAPL_Close,MSFT").as_deref(), Some("AAPL_Open,AAPL_Close"));
        assert_eq!(found("Close MSFT,X,Open MSFT").as_deref(), Some("Close MSFT,Open MSFT"));
        assert_eq!(found("A.open,A.high,A.low").as_deref(), Some("A.open,A.high"));
        for tickers in ["AAPL_Close,MSFT_Close", "LOW US,OPEN US,XOM US", "A_Open,B_Close", "BRK.A,BRK.B", "open,low"] {
            assert_eq!(found(tickers), None, "{tickers}");
        }
    }

    #[test]
    fn two_fields_are_of_one_bar_and_one_is_a_ticker() {
        let are = |text: &str| are_one_bar(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        for text in ["open,high,low,price,volume", "o,h,l,c,v", "Open,Settle", "adj close,close/last", "low,open,xom"] {
            assert!(are(text), "{text}");
        }
        for text in ["low,xom", "open,msft", "c,v,h", "aapl,msft", "last,first"] {
            assert!(!are(text), "{text}");
        }
    }
}
