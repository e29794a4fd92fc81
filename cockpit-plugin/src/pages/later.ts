// SPDX-License-Identifier: Apache-2.0
/** The pages that are loaded when the first of them is opened, all together. */
export { default as Access } from "./access";
export { default as Benchmark } from "./benchmark";
export { default as Clients } from "./clients";
export { default as Network } from "./network";
export { default as Protection } from "./protection";
export { default as Server } from "./server";
export { default as Settings } from "./settings";
export { default as Shares } from "./shares";
export { default as Storage } from "./storage";
export { default as Volumes } from "./volumes";
