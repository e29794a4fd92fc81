// SPDX-License-Identifier: Apache-2.0
/** Seconds that a change of a share may take: it is mounted and opened afterwards, and undone where that fails. */
export const CHANGE_SECONDS = 300;
