// SPDX-License-Identifier: Apache-2.0
/** Tests of blank drives before they become members. The work is a unit of the server: it goes on without this page. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Radio } from "@patternfly/react-core/dist/esm/components/Radio/index.js";
import type { DriveRow, DriveTest } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { HealthLabel } from "../../components/Health";
import { ProgressEta } from "../../components/ProgressEta";
import { bytes, duration, moment, number, rate, UNKNOWN } from "../../lib/format";
import { useChange } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { follow, type CliError } from "../../lib/millrace";
import { passWord, testLevel, testScope, testWord } from "./words";

/** Seconds: what a test wrote is trimmed before it ends. */
const STOPS = 600;

/** Drives that can be tested now. */
export const testable = (rows: readonly DriveRow[]): DriveRow[] => rows.filter(({ actions }) => actions.includes("test"));

/** How far the test of a drive is, else how its last one ended. */
export function TestOf({ drive: { test, testing, temperature_celsius: at } }: { drive: DriveRow }): JSX.Element {
    if (testing !== null) {
        const { what, done, total, bytes_per_second, seconds_left } = testing;
        const detail = [
            bytes_per_second === null ? "" : rate(bytes_per_second),
            at === null ? "" : format(_("$0 °C"), number(at)),
        ].filter(Boolean).join(" · ");
        return <ProgressEta title={passWord(what)} progress={total === 0 ? null : done / total} secondsLeft={seconds_left} detail={detail} />;
    }
    if (test === null) return <>{UNKNOWN}</>;
    const why = test.state === "passed" ? test.remarks : [test.reason, ...test.remarks].filter((one) => one !== null);
    return (
        <>
            <HealthLabel level={testLevel(test)}>{testWord(test)}</HealthLabel>{" "}
            <small className="mr-subtle">{format(_("$0, $1"), testScope(test), moment(test.ended ?? test.began))}</small>
            {why.map((one) => <div key={one}>{one}</div>)}
        </>
    );
}

/** One drive: a button of its row. */
export function TestDrive({ drive, onDone }: { drive: DriveRow; onDone: () => void }): JSX.Element {
    const [open, setOpen] = useState(false);
    return (
        <>
            <AdminButton least="operator" variant="link" isInline aria-label={format(_("Test drive $0"), drive.serial)} onClick={() => setOpen(true)}>{_("Test…")}</AdminButton>{" "}
            {open && <TestDialog drives={[drive]} onDone={onDone} onClose={() => setOpen(false)} />}
        </>
    );
}

/** All of them: tests go on side by side only where they were started together. And the end of those under way. */
export function TestAll({ rows, onDone }: { rows: DriveRow[]; onDone: () => void }): JSX.Element {
    // What the dialog shows is what is tested: drives that come or go meanwhile change nothing.
    const [asked, ask] = useState<DriveRow[]>();
    const [stops, setStops] = useState<DriveRow[]>();
    const running = rows.filter(({ testing }) => testing !== null);
    const fit = testable(rows);
    return (
        <>
            {running.length > 0 && <AdminButton least="operator" variant="secondary" onClick={() => setStops(running)}>{_("Stop tests…")}</AdminButton>}
            {fit.length > 1 && <AdminButton least="operator" variant="secondary" onClick={() => ask(fit)}>{_("Test blank drives…")}</AdminButton>}
            {asked && <TestDialog drives={asked} onDone={onDone} onClose={() => ask(undefined)} />}
            {stops && <StopDialog drives={stops} onDone={onDone} onClose={() => setStops(undefined)} />}
        </>
    );
}

/** Closes when the test has begun: the list of drives shows how far it is. */
function TestDialog({ drives, onDone, onClose }: { drives: DriveRow[]; onDone: () => void; onClose: () => void }): JSX.Element {
    const [quick, setQuick] = useState(false);
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);
    // A sample would leave what the test before wrote elsewhere.
    const again = drives.some(({ verdict }) => verdict === "unknown");

    const begin = () => {
        const signal = (stop.current = new AbortController()).signal;
        setBusy(true);
        setError(undefined);
        const begun = () => { onDone(); onClose(); };
        const args = [...drives.map(({ serial }) => serial), "--yes", ...(quick ? ["--quick"] : [])];
        follow("drive test", args, begun, { admin: true, signal }).then(() => { if (!signal.aborted) begun(); }, (failed: CliError) => {
            if (signal.aborted) return;
            setBusy(false);
            setError(failed);
            onDone();
        });
    };
    const longest = Math.max(...drives.map(({ test_seconds }) => test_seconds ?? 0));
    const [first] = drives;
    return (
        <ConfirmDialog title={drives.length === 1 ? format(_("Test the drive $0?"), first?.serial ?? "") : format(ngettext("Test $0 drive?", "Test $0 drives?", drives.length), drives.length)}
            action={drives.length === 1 ? _("Test drive") : _("Test drives")} busy={busy} error={error} onConfirm={begin} onClose={onClose}>
            <div className="mr-stack">
                <p>{ngettext("Test data is written to this drive and read back. At the end the drive is blank again:", "Test data is written to these drives and read back. At the end the drives are blank again:", drives.length)}</p>
                <ul className="mr-notes" aria-label={_("Drives to be tested")}>
                    {drives.map((one) => <li key={one.serial}>{format(_("$0, $1, $2, bay $3"), one.serial, one.model, bytes(one.size_bytes), one.bay ?? _("unknown"))}</li>)}
                </ul>
                <Radio id="test-full" name="test" label={_("Full test")} isChecked={!quick} isDisabled={busy} onChange={() => setQuick(false)}
                    description={format(_("Every block is written, read back and cleared. Expected duration: $0."), duration(longest))} />
                <Radio id="test-quick" name="test" label={_("Quick test")} isChecked={quick} isDisabled={busy || again} onChange={() => setQuick(true)}
                    description={again
                        ? _("Not possible: the last test left data on the drive.")
                        : _("A few GB in places all over the drive, in less than 10 minutes. Only the full test finds every fault.")} />
                <ul className="mr-notes">
                    <li>{_("Only blank drives are tested: a drive that contains data is refused, and nothing is written.")}</li>
                    <li>{_("A full test that is stopped or interrupted can leave test data on the drive. Test the drive again, or erase it.")}</li>
                    <li>{_("The test continues when this page is closed. Until it ends, no other test can start.")}</li>
                    <li>{_("The test does not show what a drive loses in a power cut.")}</li>
                </ul>
            </div>
        </ConfirmDialog>
    );
}

function StopDialog({ drives, onDone, onClose }: { drives: DriveRow[]; onDone: () => void; onClose: () => void }): JSX.Element {
    const stop = useChange("drive test --cancel", { timeout: STOPS });
    const [ended, setEnded] = useState<DriveTest[]>();
    const confirm = async () => {
        const done = await stop.go();
        onDone();
        if (done !== undefined) setEnded(done.tests);
    };
    if (ended !== undefined) {
        return (
            <ConfirmDialog title={_("The tests are stopped")} action={_("Close")} onConfirm={onClose} onClose={onClose}>
                <ul className="mr-notes" aria-label={_("How the tests ended")}>
                    {ended.map((one) => <li key={one.serial}>{left(one)}</li>)}
                </ul>
            </ConfirmDialog>
        );
    }
    return (
        <ConfirmDialog title={_("Stop the tests?")} action={_("Stop tests")} busy={stop.busy} error={stop.error} onConfirm={() => void confirm()} onClose={onClose}>
            <div className="mr-stack">
                <p>{format(_("All tests under way end without a result: $0."), drives.map(({ serial }) => serial).join(", "))}</p>
                <p>{_("After a quick test the drives are blank. After a full test, only drives that guarantee zeros after a trim are blank. The others keep test data until they are tested again or erased.")}</p>
            </div>
        </ConfirmDialog>
    );
}

function left(test: DriveTest): string {
    const { serial, blank } = test;
    const end = testWord(test);
    return blank
        ? format(_("Drive $0: $1. The drive is blank."), serial, end)
        : format(_("Drive $0: $1. The drive is not blank: test it again or erase it."), serial, end);
}
