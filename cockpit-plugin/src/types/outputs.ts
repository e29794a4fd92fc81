// SPDX-License-Identifier: Apache-2.0
/** What each verb prints. */
export type { Outputs } from "./millrace";
