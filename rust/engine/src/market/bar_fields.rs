//! Names of the fields of a bar, which are no symbols.

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

#[cfg(test)]
mod tests {
    use super::are_one_bar;

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
