// The engine is loaded before the module that asks it for its versions.
import "./load-node.js";

export * from "./engine.js";
