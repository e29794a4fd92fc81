// SPDX-License-Identifier: Apache-2.0
/** Jobs as the program shows them, for tests of what the pages do with one. */
import type { CurrentJob, JobStatus } from "../src/types/millrace";

/** A job that runs and can be cancelled. */
export function jobOf(name: JobStatus["name"], changes: Partial<CurrentJob> = {}): CurrentJob & { name: JobStatus["name"] } {
    return {
        title: name, what: "its object", state: "running", progress: 0.5, seconds_left: 600, bytes_per_second: null, by: "anna",
        after_boot: "ends", cancellable: true, why: null, ...changes, name,
    };
}

/** The same as `job follow` and `job cancel` print it. */
export function lineOf(job: CurrentJob & { name: JobStatus["name"] }, changes: Partial<JobStatus> = {}): JobStatus {
    const runs = job.state === "running" || job.state === "waiting";
    return {
        schema_version: 1, ...job, unit: `millrace-${job.name}.service`, began: "2026-11-20T12:00:00+00:00",
        ended: runs ? null : "2026-11-20T12:05:00+00:00", reason: null, cancellable: runs && job.cancellable, ...changes,
    };
}
