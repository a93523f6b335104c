import init from "./openoutcry_wasm.js";

await init();

export * from "./engine.js";
