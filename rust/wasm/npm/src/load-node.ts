import { readFileSync } from "node:fs";
import { initSync } from "./native/openoutcry_wasm.js";

initSync({ module: readFileSync(new URL("./native/openoutcry_wasm_bg.wasm", import.meta.url)) });
