import init from "./native/openoutcry_wasm.js";

await init({ module_or_path: new URL("./native/openoutcry_wasm_bg.wasm", import.meta.url) });
