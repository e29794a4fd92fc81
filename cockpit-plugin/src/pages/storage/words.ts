// SPDX-License-Identifier: Apache-2.0
import type { DriveRow, DriveTest, DriveTestProgress, HealthFinding, LiveArray, Member } from "../../types/millrace";
import type { Level } from "../../components/Health";
import { bytes, moment } from "../../lib/format";
import { _, format, ngettext } from "../../lib/i18n";
import { tones } from "../../lib/tones";

/** The words of md for an array that runs (Documentation/admin-guide/md.rst, array_state). */
const RUNNING = ["clean", "active", "active-idle", "write-pending"];

/** Whether the pool is not served because another boot drive used it since. */
export const cameHome = ({ key }: HealthFinding): boolean => key === "keep/elsewhere";

/** The same levels as the check of health has: what the next loss costs decides. */
export function arrayLevel(array: LiveArray): Level {
    if (array.state === "missing") return "FAIL";
    if (!RUNNING.includes(array.state)) return array.state === "unknown" ? "UNKNOWN" : "FAIL";
    // A raid0 over legs has no redundancy of its own: its legs say how it is.
    if (array.level === "raid0") return "OK";
    if (array.degraded === null || array.may_fail === null) return "UNKNOWN";
    if (array.degraded === 0) return "OK";
    return array.may_fail > 0 ? "WARN" : "FAIL";
}

export function arrayWord(array: LiveArray): string {
    if (array.state === "missing") return _("missing");
    if (!RUNNING.includes(array.state)) return array.state;
    if (array.level === "raid0") return _("running");
    if (array.degraded === null) return _("state unknown");
    return array.degraded === 0 ? _("healthy") : format(ngettext("degraded: $0 member missing", "degraded: $0 members missing", array.degraded), array.degraded);
}

export function mayFail({ level, may_fail }: LiveArray): string {
    if (level === "raid0") return _("Available as long as all legs are available.");
    if (may_fail === null) return _("Remaining redundancy is unknown.");
    if (may_fail <= 0) return _("No redundancy: the next drive failure loses data.");
    return format(ngettext("Survives $0 more drive failure.", "Survives $0 more drive failures.", may_fail), may_fail);
}

/** What the last comparison of data and parity found, and when that was. */
export function lastCheck({ last_scrub }: LiveArray): string {
    if (last_scrub === null) return _("Not checked yet.");
    const { ended, bytes: read, mismatches } = last_scrub;
    const result = mismatches === 0
        ? _("no mismatch")
        : format(ngettext("$0 sector does not match", "$0 sectors do not match", mismatches), mismatches);
    return format(_("Last check ended $0: $1, $2 read."), moment(ended), result, bytes(read));
}

export function memberLevel({ state }: Member): Level {
    switch (state) {
    case "in-sync":
    case "spare": return "OK";
    case "rebuilding": return "WARN";
    case "faulty":
    case "missing": return "FAIL";
    case "unknown": return "UNKNOWN";
    }
}

export function memberWord({ state }: Member): string {
    switch (state) {
    case "in-sync": return _("in sync");
    case "spare": return _("hot spare");
    case "rebuilding": return _("rebuilding");
    case "faulty": return _("faulty");
    case "missing": return _("missing");
    case "unknown": return _("state unknown");
    }
}

/** A drive outside the pool needs attention only where its state is not known: it may be there for any reason. */
export function driveLevel({ verdict, what }: DriveRow): Level {
    switch (verdict) {
    case "in-sync": return what === null ? "OK" : "WARN";
    case "blank": return what === null ? "OK" : "WARN";
    case "spare":
    case "boot":
    case "foreign":
    case "other pool": return "OK";
    case "rebuilding":
    case "returned":
    case "too small": return "WARN";
    case "faulty":
    case "missing": return "FAIL";
    case "unknown": return "UNKNOWN";
    }
}

export function driveVerdict({ verdict, what, too_small_by, test, testing }: DriveRow): string {
    if (testing !== null) return _("being tested");
    // The reason stands beside it.
    if (verdict === "unknown" && test?.state === "failed" && test.reason !== null && what?.includes(test.reason)) return _("failed its test");
    switch (verdict) {
    case "in-sync": return what === null ? _("in sync") : format(_("$0: $1"), _("in sync"), what);
    case "rebuilding": return _("rebuilding");
    case "spare": return _("hot spare");
    case "faulty": return _("faulty");
    case "missing": return what === null ? _("missing") : format(_("$0: $1"), _("missing"), what);
    case "returned": return what === null ? _("returned, not in its array") : format(_("$0: $1"), _("returned, not in its array"), what);
    case "blank": return what === null ? _("blank") : format(_("$0: $1"), _("blank"), what);
    case "too small": return format(_("too small by $0"), bytes(too_small_by));
    case "foreign": return what === null ? _("contains foreign data") : format(_("foreign data: $0"), what);
    case "other pool": return _("member of another Millrace pool");
    case "boot": return _("boot drive");
    case "unknown": return what === null ? _("state unknown") : format(_("state unknown: $0"), what);
    }
}

/** What a test does now. */
export function passWord(what: DriveTestProgress["what"]): string {
    switch (what) {
    case "writing": return _("Writing test data");
    case "reading back": return _("Reading test data back");
    case "writing zeros": return _("Writing zeros");
    case "reading zeros": return _("Reading zeros");
    }
}

export function testScope({ scope }: DriveTest): string {
    return scope === "quick" ? _("quick test") : _("full test");
}

/** How a test that is not under way ended: one that is recorded as running ended with the server. */
export function testWord({ state }: DriveTest): string {
    switch (state) {
    case "passed": return _("passed");
    case "failed": return _("failed");
    case "cancelled": return _("stopped");
    case "running":
    case "interrupted": return _("interrupted");
    }
}

export function testLevel({ state }: DriveTest): Level {
    switch (state) {
    case "passed": return "OK";
    case "failed": return "FAIL";
    case "cancelled":
    case "running":
    case "interrupted": return "UNKNOWN";
    }
}

export function driveRole({ role }: DriveRow): string {
    switch (role) {
    case "data": return _("data");
    case "log": return _("file system log");
    case "spare": return _("hot spare");
    case "backend": return _("external device");
    case "boot": return _("boot drive");
    case "none": return _("none");
    }
}

export function arrayTones(arrays: LiveArray[]): Map<string, number> {
    return tones(arrays.filter(({ legs }) => legs.length === 0).map(({ name }) => name));
}
