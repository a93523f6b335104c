use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use openoutcry_engine::counted;
use sha2::{Digest, Sha256};

use crate::merkle::{Hash, Tree, hash_leaf};
use crate::wire::canonical_json::hex_of;

/// The largest size of a record in bytes: entry bundles have 16 bits for it.
pub const LONGEST: usize = 65_535;

/// Lengths of the text of a time up to its day, and up to its second.
const DAY: usize = 10;
const SECOND: usize = 19;

const NOT_EXACT: &str = "an object in canonical JSON without fractions is required; received another line";

/// An invalid line, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the line, from 0.
    pub line: usize,
    /// The requirement and the received value.
    pub why: String,
}

/// A parsed log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The tree of all lines.
    pub tree: Tree,
    /// The SHA-256 of each line.
    pub digests: Vec<Hash>,
    /// Positions of the records other than submissions, with their lines.
    pub others: Vec<(usize, Range<usize>)>,
    /// Invalid lines, each once.
    pub faults: Vec<Fault>,
    /// Number of records from days before that of the last record.
    ///
    /// By the times in the records.
    pub n_before_today: usize,
    submissions: Vec<Submission>,
}

/// Positions of the fields of a submission.
#[derive(Clone, Debug)]
struct Submission {
    line: usize,
    id: Range<usize>,
    commitments: Range<usize>,
}

/// Returns the fault of a text as a new record; `None` for a valid one.
///
/// It is stricter than `Log::read`, which accepts unknown record types.
#[must_use]
pub fn record_fault(text: &str) -> Option<String> {
    if text.len() > LONGEST {
        return Some(format!("at most {LONGEST} bytes are required; received {}", text.len()));
    }
    let mut members = Vec::new();
    if crate::arena_log::json_scanner::members(text, &mut members).is_none() {
        return Some(NOT_EXACT.to_owned());
    }
    crate::arena_log::record_types::fault(&members)
}

/// Returns the lines of a file, and the text after the last line end.
fn lines(content: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines: Vec<_> = content.split(|&byte| byte == b'\n').collect();
    let rest = lines.pop().unwrap_or_default();
    (lines, rest)
}

/// Returns the position of `part` in the text that contains it.
fn place(content: &[u8], part: &str) -> Range<usize> {
    let first = part.as_ptr() as usize - content.as_ptr() as usize;
    first..first + part.len()
}

impl Log {
    /// Reads a log with one record per line, and collects faults.
    ///
    /// An invalid line is a leaf of the tree, but none of its fields are used.
    #[must_use]
    pub fn read(content: &[u8]) -> Self {
        let (lines, rest) = lines(content);
        let mut reader = Reader {
            content,
            log: Self::default(),
            snapshots: BTreeMap::new(),
            newest: "",
            ids: BTreeSet::new(),
            members: Vec::new(),
        };
        for (line, text) in lines.iter().enumerate() {
            let why = reader.read(line, text);
            reader.log.faults.extend(why.map(|why| Fault { line, why }));
            reader.log.digests.push(Sha256::digest(text).into());
        }
        let mut log = reader.log;
        log.tree.extend(lines.iter().map(|text| hash_leaf(text)));
        log.faults.extend(cut_fault(lines.len(), rest));
        log
    }

    /// Checks the reveals of this log, and returns their faults.
    ///
    /// A line reveals one submission. `content` is the text of the log.
    #[must_use]
    pub fn reveal(&self, content: &[u8], reveals: &[u8]) -> Vec<Fault> {
        let (lines, rest) = lines(reveals);
        let results = self.results(content);
        let mut faults = Vec::new();
        for (line, text) in lines.iter().enumerate() {
            let why = match self.submissions.get(line) {
                None => Some("one line per submission is required; received an extra line".to_owned()),
                Some(submission) => reveal_fault(content, submission, text, &results),
            };
            faults.extend(why.map(|why| Fault { line, why }));
        }
        faults.extend(cut_fault(lines.len(), rest));
        if lines.len() < self.submissions.len() {
            let why = format!("a file of {} is required; received fewer", counted(self.submissions.len(), "line"));
            faults.push(Fault { line: lines.len(), why });
        }
        faults
    }

    /// Returns the line of the first resolution of each market, by its id as written.
    fn results<'a>(&self, content: &'a [u8]) -> BTreeMap<&'a str, usize> {
        let mut members = Vec::new();
        let mut found = BTreeMap::new();
        for (line, place) in self.others.iter().rev() {
            let text = str::from_utf8(&content[place.clone()]).unwrap_or_default();
            if crate::arena_log::json_scanner::members(text, &mut members).is_some()
                && crate::arena_log::record_types::value(&members, "type") == Some("\"resolution\"")
            {
                found.insert(crate::arena_log::record_types::value(&members, "market_id").unwrap_or("null"), *line);
            }
        }
        found
    }
}

fn cut_fault(line: usize, rest: &[u8]) -> Option<Fault> {
    let why = || "a line must end with a line feed; received the end of the file".to_owned();
    (!rest.is_empty()).then(|| Fault { line, why: why() })
}

struct Reader<'a> {
    content: &'a [u8],
    log: Log,
    /// The hash of each snapshot by its time, both as written.
    snapshots: BTreeMap<&'a str, &'a str>,
    /// The latest second in any record so far.
    ///
    /// Later records of the log must not be earlier.
    newest: &'a str,
    /// The ids of the submissions, as written.
    ids: BTreeSet<&'a str>,
    members: Vec<(&'a str, &'a str)>,
}

impl<'a> Reader<'a> {
    /// Reads a line, and returns its fault.
    fn read(&mut self, line: usize, text: &'a [u8]) -> Option<String> {
        let Some(text) = str::from_utf8(text)
            .ok()
            .filter(|text| crate::arena_log::json_scanner::members(text, &mut self.members).is_some())
        else {
            return Some(NOT_EXACT.to_owned());
        };
        let value = |name| crate::arena_log::record_types::value(&self.members, name).unwrap_or("none");
        let before = self.log.digests.last().copied().unwrap_or_default();
        let links = [("v", "1".to_owned()), ("seq", line.to_string()), ("prev_sha256", quoted(&before))];
        if let Some((name, required)) = links.iter().find(|(name, required)| value(name) != required) {
            return Some(format!("`{name}` must be {required}; received {}", value(name)));
        }
        let kind = value("type");
        if (kind == "\"log\"") != (line == 0) || text.len() > LONGEST {
            let required = format!("records of at most {LONGEST} bytes with the record `log` first are required");
            return Some(format!("{required}; received {kind}"));
        }
        if kind == "\"submission\"" {
            return self.submit(line);
        }
        let (as_of, digest) = (value("as_of"), value("sha256"));
        self.log.others.push((line, place(self.content, text)));
        let is_new = || {
            crate::arena_log::record_types::text(as_of)
                && crate::arena_log::record_types::text(digest)
                && !self.snapshots.contains_key(as_of)
        };
        if kind == "\"snapshot\"" {
            if !is_new() {
                return Some("a new `as_of` and a `sha256` are required; received other values".to_owned());
            }
            self.snapshots.insert(as_of, digest);
        }
        // A snapshot is published after its own time.
        let least = crate::arena_log::record_types::sortable_time(as_of).map_or("", |moment| &moment[..SECOND]);
        self.date(line, if line == 0 { "created_at" } else { "at" }, least)
    }

    /// Updates the latest time with that of a record, and returns its fault.
    ///
    /// The time is in the member `name`.
    fn date(&mut self, line: usize, name: &str, least: &str) -> Option<String> {
        let (value, least) =
            (crate::arena_log::record_types::value(&self.members, name).unwrap_or("none"), self.newest.max(least));
        let Some(moment) = crate::arena_log::record_types::sortable_time(value).filter(|moment| *moment >= least)
        else {
            return Some(format!("`{name}` must be a time at or after {least:?}; received {value}"));
        };
        if self.newest.get(..DAY).is_some_and(|day| day < &moment[..DAY]) {
            self.log.n_before_today = line;
        }
        self.newest = &moment[..SECOND];
        None
    }

    /// Stores the fields of a submission.
    fn submit(&mut self, line: usize) -> Option<String> {
        let value = |name| crate::arena_log::record_types::value(&self.members, name).unwrap_or("none");
        let (id, commitments) = (value("submission_id"), value("commitments"));
        if !crate::arena_log::record_types::text(id) || self.ids.contains(id) {
            return Some(format!("a new `submission_id` is required; received {id}"));
        }
        if !crate::arena_log::record_types::commitments(commitments) {
            return Some("`commitments` must be SHA-256 in ascending order; received other values".to_owned());
        }
        let (as_of, digest) = (value("snapshot_as_of"), value("snapshot_sha256"));
        self.ids.insert(id);
        let (id, commitments) = (place(self.content, id), place(self.content, commitments));
        self.log.submissions.push(Submission { line, id, commitments });
        if self.snapshots.get(as_of) != Some(&digest) {
            return Some(format!("an earlier snapshot of the log is required; received {as_of}"));
        }
        self.date(line, "received_at", "")
    }
}

fn quoted(digest: &Hash) -> String {
    format!("\"{}\"", hex_of(digest))
}

/// Returns the fault of a line that does not reveal a submission.
fn reveal_fault(
    content: &[u8],
    submission: &Submission,
    line: &[u8],
    results: &BTreeMap<&str, usize>,
) -> Option<String> {
    let mut members = Vec::new();
    if str::from_utf8(line)
        .ok()
        .is_none_or(|text| crate::arena_log::json_scanner::members(text, &mut members).is_none())
    {
        return Some(NOT_EXACT.to_owned());
    }
    let is_named = members.iter().map(|(name, _)| *name).eq(["opened", "submission_id"]);
    let Some(opened) = is_named.then(|| crate::arena_log::json_scanner::items(members[0].1)).flatten() else {
        return Some("`opened` (a list) and `submission_id` are required; received other members".to_owned());
    };
    if members[1].1.as_bytes() != &content[submission.id.clone()] {
        return Some(format!("submissions must be in order; received {}", members[1].1));
    }
    let committed: Vec<_> = content[submission.commitments.clone()].chunks_exact(67).map(|each| &each[1..]).collect();
    let mut found: Vec<_> = opened.iter().map(|body| quoted(&Sha256::digest(body).into())).collect();
    let are_committed = found.iter().all(|digest| committed.binary_search(&digest.as_bytes()).is_ok());
    found.sort_unstable();
    let are_apart = found.windows(2).all(|pair| pair[0] != pair[1]);
    let required = "the bodies in the commitments of the submission are required, each once";
    if !are_committed || !are_apart {
        return Some(format!("{required}; received another body"));
    }
    let known = opened.iter().find(|body| {
        let mut members = Vec::new();
        !results.is_empty()
            && crate::arena_log::json_scanner::members(body, &mut members).is_some()
            && results
                .get(crate::arena_log::record_types::value(&members, "market_id").unwrap_or("null"))
                .is_some_and(|result| *result < submission.line)
    });
    known.map(|body| format!("a decision must precede the resolution of its market; received {body}"))
}
