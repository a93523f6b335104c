//! `openoutcry-bindgen IN.wasm FOLDER`: the JavaScript around the engine.
//!
//! It runs `wasm-bindgen` for modules and for single-file pages.
//! A page opened from a disk cannot load a module: for it the engine is also a script, in `FOLDER/script`.

use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder] = &words[..] else {
        eprintln!("error: a compiled module and a folder are required; received {words:?}");
        return ExitCode::from(2);
    };
    let folder = Path::new(folder);
    let mut modules = Bindgen::new();
    let mut script = Bindgen::new();
    let made = modules.web(true).and_then(|bindgen| write(bindgen.typescript(true), input, folder)).and_then(|()| {
        script.no_modules(true).and_then(|bindgen| write(bindgen.typescript(false), input, &folder.join("script")))
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn write(bindgen: &mut Bindgen, input: &str, folder: &Path) -> Result<(), anyhow::Error> {
    // Function names are a tenth of the size, and no panic prints them.
    bindgen.input_path(input).omit_default_module_path(true).remove_name_section(true).generate(folder)
}
