//! Mutational fuzzing of every reader of untrusted bytes, on stable Rust.
//!
//! No input may panic, take more than a second or more than 256 MiB, or break a property of its reader. The parent
//! process runs each reader in a child, so that a stack overflow, an abort or an endless loop is found too; it
//! regenerates the failing input from its index and saves it. Environment:
//!
//! - `OPENOUTCRY_FUZZ_SECONDS`: seconds for each reader, instead of a fixed number of inputs.
//! - `OPENOUTCRY_FUZZ_SEED`: another seed.
//! - `OPENOUTCRY_FUZZ_INPUT`: a file, the only input of the readers that the arguments name.

mod memory;
mod mutation;
mod readers;

use std::env;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mutation::input;
use readers::{PLANTED, READERS, Reader};

/// Inputs of each reader without `OPENOUTCRY_FUZZ_SECONDS`.
const N_INPUTS: u64 = 1500;
const SEED: u64 = 20_260_101;
/// The longest that an input may take.
///
/// A slower one is tried again, because the machine may have been busy.
const LONGEST: Duration = Duration::from_secs(1);
/// The parent ends a child that has been at one input for so long.
const STALLED: Duration = Duration::from_secs(20);
const MOST_FINDINGS: usize = 10;
/// The first input of a child, and the file to which it writes its progress.
const CHILD: &str = "OPENOUTCRY_FUZZ_CHILD";
const PROGRESS: &str = "OPENOUTCRY_FUZZ_PROGRESS";

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number; received {text}")))
}

fn seed() -> u64 {
    number("OPENOUTCRY_FUZZ_SEED").unwrap_or(SEED)
}

/// Returns the stored inputs of a reader, sorted by file name.
fn corpus(reader: &Reader) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus").join(reader.corpus);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a stored input")).collect()
}

fn main() -> ExitCode {
    // `cargo test` passes its flags and filters to every test program.
    let wanted: Vec<String> = env::args().skip(1).filter(|each| !each.starts_with('-')).collect();
    if env::args().any(|each| each == "--list") {
        return ExitCode::SUCCESS;
    }
    let is_wanted = |name: &str| wanted.iter().any(|each| each == name);
    let readers = READERS.iter().chain(PLANTED.iter().filter(|reader| is_wanted(reader.name)));
    let readers = readers.filter(|reader| wanted.is_empty() || is_wanted(reader.name));
    if let Ok(path) = env::var("OPENOUTCRY_FUZZ_INPUT") {
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        readers.for_each(|reader| println!("{}: accepted: {}", reader.name, timed(reader, &bytes)));
        return ExitCode::SUCCESS;
    }
    if let Ok(first) = env::var(CHILD) {
        let progress = env::var(PROGRESS).expect("a path");
        readers.for_each(|reader| run_child(reader, first.parse().expect("an index"), Path::new(&progress)));
        return ExitCode::SUCCESS;
    }
    // The harness first shows that it finds faults: each planted reader fails at its first input.
    if wanted.is_empty() {
        for reader in &PLANTED {
            assert_eq!(findings(reader, 1).len(), 1, "{} must be found", reader.name);
        }
    }
    let found: Vec<String> = readers.flat_map(|reader| findings(reader, MOST_FINDINGS)).collect();
    for each in &found {
        println!("{each}");
    }
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The folder of the failing inputs of a reader.
fn folder(reader: &Reader) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(reader.name)
}

/// Runs a reader on an input, and panics if it takes too long three times.
fn timed(reader: &Reader, bytes: &[u8]) -> bool {
    let mut accepted = false;
    let fastest = (0..3)
        .map(|_| {
            let began = Instant::now();
            accepted = (reader.read)(bytes);
            began.elapsed()
        })
        .find(|taken| *taken <= LONGEST);
    assert!(fastest.is_some(), "an input must take at most {LONGEST:?}");
    accepted
}

/// Runs a reader on the inputs from index `first` on.
///
/// Writes each index before its input is read.
fn run_child(reader: &Reader, first: u64, progress: &Path) {
    let corpus = corpus(reader);
    let mut progress = File::create(progress).expect("a progress file");
    let end = number("OPENOUTCRY_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let n_inputs = corpus.len() as u64 + N_INPUTS;
    let (mut n_accepted, mut slowest, mut most, mut index) = (0_u64, Duration::ZERO, 0, first);
    while end.map_or(index < n_inputs, |end| Instant::now() < end || index < corpus.len() as u64) {
        progress.seek(SeekFrom::Start(0)).and_then(|_| progress.write_all(&index.to_le_bytes())).expect("progress");
        let bytes = input(&corpus, seed(), index);
        memory::peak();
        let began = Instant::now();
        n_accepted += u64::from(timed(reader, &bytes));
        slowest = slowest.max(began.elapsed());
        most = most.max(memory::peak());
        index += 1;
    }
    let share = 100 * n_accepted / (index - first).max(1);
    println!(
        "fuzz {:16} {:9} inputs, {share:2} % accepted, slowest {:4} ms, at most {:3} MiB",
        reader.name,
        index - first,
        slowest.as_millis(),
        most >> 20
    );
}

/// Runs a reader in children until its budget is used, and returns the findings.
///
/// Saves each failing input.
fn findings(reader: &Reader, most: usize) -> Vec<String> {
    let folder = folder(reader);
    fs::create_dir_all(&folder).expect("a folder for findings");
    let (mut first, mut found) = (0, Vec::new());
    while let Some((index, why)) = failure(reader, &folder, first) {
        let path = folder.join(format!("{}-{index}.bin", seed()));
        fs::write(&path, input(&corpus(reader), seed(), index)).expect("a saved input");
        let (name, path) = (reader.name, path.display());
        let hint = format!("OPENOUTCRY_FUZZ_INPUT={path} cargo test -p openoutcry --test fuzz {name}");
        found.push(format!("fuzz {name}: input {index} must not fail: {why}\n  hint: {hint}"));
        if found.len() == most {
            break;
        }
        first = index + 1;
    }
    found
}

/// Runs a child from an input on, and returns the index and fault of a failure.
fn failure(reader: &Reader, folder: &Path, first: u64) -> Option<(u64, String)> {
    // Several runs at a time do not share a file.
    let [progress, errors] = ["progress", "errors"].map(|name| folder.join(format!("{}.{name}", process::id())));
    let mut child = Command::new(env::current_exe().expect("this program"))
        .arg(reader.name)
        .env(CHILD, first.to_string())
        .env(PROGRESS, &progress)
        .stdin(Stdio::null())
        .stderr(File::create(&errors).expect("a file for errors"))
        .spawn()
        .expect("a child");
    let (mut seen, mut since, mut is_stalled) = (None, Instant::now(), false);
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child's status") {
            break status;
        }
        let index = fs::read(&progress).ok();
        if index != seen {
            (seen, since) = (index, Instant::now());
        } else if since.elapsed() > STALLED {
            is_stalled = true;
            child.kill().expect("an end of the child");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let (bytes, text) = (fs::read(&progress).expect("progress"), fs::read(&errors).unwrap_or_default());
    fs::remove_file(progress).and_then(|()| fs::remove_file(errors)).expect("files of this run");
    if status.success() {
        return None;
    }
    let index = u64::from_le_bytes(bytes.try_into().expect("an index"));
    let text = String::from_utf8_lossy(&text);
    let why = if is_stalled { format!("no end after {STALLED:?}") } else { format!("{status}: {}", text.trim()) };
    Some((index, why))
}
