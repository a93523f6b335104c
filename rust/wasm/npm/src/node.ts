import "./load-node.js";
import * as native from "./native/openoutcry_wasm.js";

export * from "./engine.js";

// Here and not in `engine.js`, which does not wait for the engine to load.
/** Version of the wire contract. */
export const CONTRACT_VERSION: string = native.contract_version();
/** Version of the engine in records. */
export const ENGINE_VERSION: string = native.engine_version();
/** Names of the baseline agents. */
export const BASELINES: readonly string[] = native.baselines();
