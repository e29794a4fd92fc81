// SPDX-License-Identifier: Apache-2.0
/** The drives of this server, asked more often while something is seen to move. */
import type { Outputs } from "../../types/outputs";
import { useVerb, type Result } from "../../lib/hooks";
import { useJob } from "../../lib/jobs";

/** Seconds: a test must be seen to go on, and a drive that is waited for to arrive. */
const MOVING = 3;
/** Seconds: what drives say of themselves is read every few minutes, and a drive that comes or goes changes the arrays. */
const EVERY = 15;

export function useDrives(moving = false): Result<Outputs["drive list"]> {
    const test = useJob("drive-test").now;
    const erasure = useJob("erase").now;
    const isMoving = moving || test !== undefined || erasure !== undefined;
    return useVerb("drive list", [], { every: isMoving ? MOVING : EVERY });
}
