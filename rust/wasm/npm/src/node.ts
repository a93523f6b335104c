import { readFileSync } from "node:fs";
import { initSync } from "./openoutcry_wasm.js";

initSync({ module: readFileSync(new URL("./openoutcry_wasm_bg.wasm", import.meta.url)) });

export * from "./engine.js";
