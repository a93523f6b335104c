//! Records as lines of JSON, which can be appended and survive a crash.

use serde::de::DeserializeOwned;

use super::error::RecordError;
use super::reader::{EndLine, FirstLine, HeaderLine, LastLine, check_canonical, check_version};
use super::trajectory::{AgentTrajectory, Step, check_agent_id};
use super::writer;

/// A record read from lines, and the size of a torn last line.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// The record of the whole lines.
    pub record: AgentTrajectory,
    /// Bytes after the last line end, which are dropped.
    pub torn_bytes: usize,
}

impl AgentTrajectory {
    /// Returns the record in lines, each of which must be canonical JSON.
    ///
    /// Text after the last line end was torn by a crash and is dropped. The record then has no digest, and a run
    /// without an end has none either. Text after a digest line is refused.
    ///
    /// # Errors
    ///
    /// Returns the first line that is out of place, or its missing or extra fields.
    pub fn from_lines(bytes: &[u8]) -> Result<Lines, RecordError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        let text = std::str::from_utf8(&bytes[..whole]).map_err(|error| {
            let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            RecordError::invalid(format!("invalid UTF-8 in line {line}"))
        })?;
        let mut reader = Reader::default();
        for (index, line) in text.split_terminator('\n').enumerate() {
            reader.read(line).map_err(|fault| in_line(fault, index + 1))?;
        }
        let record = reader.record.ok_or_else(|| RecordError::invalid("no complete line"))?;
        let torn_bytes = bytes.len() - whole;
        // A crash leaves none, because the digest line is the last write. The record would read as signed.
        if torn_bytes > 0 && record.digest.is_some() {
            return Err(RecordError::invalid("text after the digest line"));
        }
        Ok(Lines { record, torn_bytes })
    }
}

fn in_line(fault: RecordError, line: usize) -> RecordError {
    match fault {
        RecordError::Invalid { problem } => RecordError::Invalid { problem: format!("{problem}, in line {line}") },
        RecordError::NotCanonical { byte, .. } => RecordError::NotCanonical { byte, place: format!("line {line}") },
        other => other,
    }
}

#[derive(Default)]
struct Reader {
    record: Option<AgentTrajectory>,
    canonical: String,
}

impl Reader {
    fn read(&mut self, line: &str) -> Result<(), RecordError> {
        self.canonical.clear();
        match &mut self.record {
            None => self.record = Some(first(line, &mut self.canonical)?),
            Some(record) => next(record, line, &mut self.canonical)?,
        }
        check_canonical(line, self.canonical.trim_end_matches('\n'), "a line")
    }
}

fn first(line: &str, canonical: &mut String) -> Result<AgentTrajectory, RecordError> {
    let FirstLine { agent_id, in_sample_trials, record_version } = parse(line)?;
    check_version(record_version)?;
    check_agent_id(&agent_id)?;
    writer::push_first_line(canonical, &agent_id, in_sample_trials);
    Ok(AgentTrajectory { agent_id, in_sample_trials, runs: Vec::new(), digest: None, signature: None })
}

fn next(record: &mut AgentTrajectory, line: &str, canonical: &mut String) -> Result<(), RecordError> {
    if record.digest.is_some() {
        return Err(RecordError::invalid("a line after the digest line"));
    }
    let open = record.runs.last_mut().filter(|run| run.end.is_none());
    // Canonical objects begin with their first field in order.
    match (line.get(..8).unwrap_or(line), open) {
        ("{\"harnes" | "{\"header", None) => {
            let run = parse::<HeaderLine>(line)?.run();
            writer::push_header_line(canonical, &run);
            record.runs.push(run);
        }
        ("{\"digest", None) => {
            let LastLine { digest, signature } = parse(line)?;
            writer::push_last_line(canonical, &digest, signature.as_ref());
            (record.digest, record.signature) = (Some(digest), signature);
        }
        ("{\"cash\":", Some(run)) => {
            let step: Step = parse(line)?;
            writer::push_step_line(canonical, &step);
            run.steps.push(step);
        }
        ("{\"end\":{", Some(run)) => {
            let EndLine { end } = parse(line)?;
            writer::push_end_line(canonical, &end);
            run.end = Some(end);
        }
        (_, None) => return Err(RecordError::invalid("a line other than a header or digest between runs")),
        (_, Some(_)) => return Err(RecordError::invalid("a line other than a step or end inside a run")),
    }
    Ok(())
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T, RecordError> {
    // Without the line number of serde, which is always 1.
    serde_json::from_str(line).map_err(|error| RecordError::invalid(error.to_string().replacen(" at line 1", " at", 1)))
}
