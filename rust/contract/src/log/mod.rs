//! The log of an arena: lines of canonical JSON, each of which names the hash of the one before.
//!
//! A record is a leaf of a Merkle tree, and a submission commits to decisions that are revealed later. This is the audit
//! of what a log and its reveals say by themselves; checkpoints and signatures are checked in Python.

mod exact;
mod shapes;

use std::collections::BTreeMap;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::json::hex_of;
use crate::merkle::{Hash, Tree, hash_leaf};

/// The most bytes that a record may have: entry bundles give them 16 bits.
pub const LONGEST: usize = 65_535;

/// A line that is not what it must be, from 0, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the line, from 0.
    pub line: usize,
    /// What was required and what came.
    pub why: String,
}

/// A log as it was read.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The tree of all lines.
    pub tree: Tree,
    /// The SHA-256 of each line.
    pub digests: Vec<Hash>,
    /// Where the records that are no submissions are, by line.
    pub others: Vec<(usize, Range<usize>)>,
    /// The lines that are at fault, each once.
    pub faults: Vec<Fault>,
    submissions: Vec<Submission>,
}

/// Where the facts of a submission are.
#[derive(Clone, Debug)]
struct Submission {
    id: Range<usize>,
    commitments: Range<usize>,
}

/// Returns why a text is no record of a log, wherever it stands; `None` if it is one.
#[must_use]
pub fn record_fault(text: &str) -> Option<String> {
    let mut members = Vec::new();
    shape_fault(text, &mut members)
}

fn shape_fault<'a>(text: &'a str, members: &mut Vec<(&'a str, &'a str)>) -> Option<String> {
    if text.len() > LONGEST {
        return Some(format!("at most {LONGEST} bytes are required; received {}", text.len()));
    }
    if exact::members(text, members).is_none() {
        return Some("an object in canonical JSON without fractions is required; received other text".to_owned());
    }
    shapes::fault(members)
}

/// Returns the lines of a file, and whether the last one ends.
fn lines(content: &[u8]) -> (Vec<&[u8]>, bool) {
    let mut lines: Vec<_> = content.split(|&byte| byte == b'\n').collect();
    let is_ended = lines.last().is_some_and(|last| last.is_empty());
    if is_ended {
        lines.pop();
    }
    (lines, is_ended)
}

/// Returns where `part` is in the text that it is a part of.
fn place(content: &[u8], part: &str) -> Range<usize> {
    let first = part.as_ptr() as usize - content.as_ptr() as usize;
    first..first + part.len()
}

impl Log {
    /// Reads a log, a record a line, and notes what is at fault.
    #[must_use]
    pub fn read(content: &[u8]) -> Self {
        let (lines, is_ended) = lines(content);
        let mut reader = Reader { content, log: Self::default(), snapshots: BTreeMap::new(), members: Vec::new() };
        for (line, text) in lines.iter().enumerate() {
            let why = reader.read(line, text);
            let is_cut = line + 1 == lines.len() && !is_ended;
            let why = why.or_else(|| is_cut.then(|| "a line must end; received the end of the file".to_owned()));
            reader.log.faults.extend(why.map(|why| Fault { line, why }));
        }
        let mut log = reader.log;
        log.tree.extend(lines.iter().map(|text| hash_leaf(text)));
        if lines.is_empty() {
            log.faults.push(Fault { line: 0, why: "a record is required; received an empty file".to_owned() });
        }
        log.note_repeated_ids(content);
        log
    }

    fn note_repeated_ids(&mut self, content: &[u8]) {
        let mut ids: Vec<_> = self.submissions.iter().map(|each| &content[each.id.clone()]).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            let why = "each `submission_id` must be of one submission; received one of two".to_owned();
            self.faults.push(Fault { line: self.digests.len(), why });
        }
    }

    /// Reads the reveals of this log, a submission a line, and returns what is at fault.
    ///
    /// `content` is what the log was read from.
    #[must_use]
    pub fn reveal(&self, content: &[u8], reveals: &[u8]) -> Vec<Fault> {
        let (lines, is_ended) = lines(reveals);
        let mut faults = Vec::new();
        for (line, text) in lines.iter().enumerate() {
            let why = match self.submissions.get(line) {
                None => Some("a line for each submission is required; received one more".to_owned()),
                Some(submission) => reveal_fault(content, submission, text),
            };
            faults.extend(why.map(|why| Fault { line, why }));
        }
        if !is_ended || lines.len() < self.submissions.len() {
            let why = "a line for each submission is required; received a cut file".to_owned();
            faults.push(Fault { line: lines.len(), why });
        }
        faults
    }
}

struct Reader<'a> {
    content: &'a [u8],
    log: Log,
    /// The hash of each snapshot by its time, both as they are written.
    snapshots: BTreeMap<&'a str, &'a str>,
    members: Vec<(&'a str, &'a str)>,
}

impl<'a> Reader<'a> {
    /// Reads a line, and returns what is wrong with it.
    fn read(&mut self, line: usize, text: &'a [u8]) -> Option<String> {
        let before = self.log.digests.last().copied().unwrap_or_default();
        self.log.digests.push(Sha256::digest(text).into());
        let Ok(text) = str::from_utf8(text) else {
            return Some("UTF-8 is required; received other bytes".to_owned());
        };
        if let Some(why) = shape_fault(text, &mut self.members) {
            return Some(why);
        }
        let value = |name| shapes::value(&self.members, name).unwrap_or_default();
        let (kind, mut fault) = (value("type"), None);
        if kind == "\"submission\"" {
            let (id, commitments) = (value("submission_id"), value("commitments"));
            let (id, commitments) = (place(self.content, id), place(self.content, commitments));
            self.log.submissions.push(Submission { id, commitments });
            if self.snapshots.get(value("snapshot_as_of")) != Some(&value("snapshot_sha256")) {
                fault = Some("the snapshot must be one that the log has before; received another".to_owned());
            }
        } else {
            self.log.others.push((line, place(self.content, text)));
        }
        if kind == "\"snapshot\"" && self.snapshots.insert(value("as_of"), value("sha256")).is_some() {
            fault = Some("`as_of` must be of one snapshot; received it again".to_owned());
        }
        if (kind == "\"log\"") != (line == 0) {
            return Some(format!("the first record alone must be of type `log`; received {kind}"));
        }
        if value("seq") != line.to_string() {
            return Some(format!("`seq` must be {line}; received {}", value("seq")));
        }
        if shapes::unquoted(value("prev_sha256")) != Some(&hex_of(&before)) {
            return Some(format!("`prev_sha256` must be that of the record before; received {}", value("prev_sha256")));
        }
        fault
    }
}

/// Returns why a line does not reveal a submission.
fn reveal_fault(content: &[u8], submission: &Submission, line: &[u8]) -> Option<String> {
    let Ok(text) = str::from_utf8(line) else { return Some("UTF-8 is required; received other bytes".to_owned()) };
    let mut members = Vec::new();
    let is_object = exact::members(text, &mut members).is_some();
    let is_named = members.iter().map(|(name, _)| *name).eq(["opened", "submission_id"]);
    let Some(opened) = (is_object && is_named).then(|| exact::items(members[0].1)).flatten() else {
        let wanted = "canonical JSON of `opened`, a list, and `submission_id` is required";
        return Some(format!("{wanted}; received other text"));
    };
    if members[1].1.as_bytes() != &content[submission.id.clone()] {
        return Some(format!("the submissions must come in their order; received {}", members[1].1));
    }
    let mut markets = Vec::new();
    for (place, body) in opened.iter().enumerate() {
        if exact::members(body, &mut members).is_none() {
            return Some(format!("`opened[{place}]` must be an object; received another value"));
        }
        if let Some(why) = shapes::misfit(&members, &shapes::OPENED) {
            return Some(format!("`opened[{place}]`: {why}"));
        }
        if !has_commitment(&content[submission.commitments.clone()], &hex_of(&Sha256::digest(body))) {
            return Some(format!("`opened[{place}]` must be what the submission committed to; received another"));
        }
        markets.extend(shapes::value(&members, "market_id"));
    }
    markets.sort_unstable();
    let is_twice = markets.windows(2).any(|pair| pair[0] == pair[1]);
    is_twice.then(|| "each market must be opened once; received one twice".to_owned())
}

/// Returns whether a list of commitments, in ascending order as it is written, has one.
fn has_commitment(list: &[u8], digest: &str) -> bool {
    let found: Vec<_> = list.chunks_exact(67).map(|each| &each[2..66]).collect();
    found.binary_search(&digest.as_bytes()).is_ok()
}
