//! `openoutcry-bindgen IN.wasm OUT_FOLDER`: what `wasm-bindgen --target web` does.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [input, out] = &words[..] else {
        eprintln!("error: a compiled module and a folder are required; received {words:?}");
        return ExitCode::from(2);
    };
    let made = Bindgen::new().input_path(input).web(true).and_then(|bindgen| bindgen.typescript(true).generate(out));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
