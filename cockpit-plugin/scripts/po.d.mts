// SPDX-License-Identifier: Apache-2.0
export function catalogues(directory: string): [file: string, text: string][];
