// SPDX-License-Identifier: Apache-2.0
/** What each verb prints. */
import type { Outputs as Made } from "./millrace";

export type Outputs = Made & {
    "bench start": { run: string };
    "bench stop": { run: string };
};
