// SPDX-License-Identifier: Apache-2.0
import type { Catalogue } from "./pot.mjs";

export function catalogues(directory: string): [file: string, text: string][];
export function read(file: string): Catalogue;
