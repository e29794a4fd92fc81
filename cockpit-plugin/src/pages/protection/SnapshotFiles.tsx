// SPDX-License-Identifier: Apache-2.0
/** What is in a snapshot, directory by directory, what the share has changed since, and how a file comes back. */
import { useEffect, useRef, useState, type JSX } from "react";
import { Alert } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import { Button } from "@patternfly/react-core/dist/esm/components/Button/index.js";
import { Modal, ModalBody, ModalFooter, ModalHeader } from "@patternfly/react-core/dist/esm/components/Modal/index.js";
import type { SnapshotComparison, SnapshotDifference, SnapshotEntry, SnapshotRow } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { DataTable, type Column } from "../../components/DataTable";
import { ErrorAlert, Loaded } from "../../components/States";
import { bytes, moment, number, UNKNOWN } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { follow, type CliError } from "../../lib/millrace";

/** Seconds that a comparison may take: every file of the share is looked at. */
const COMPARE_SECONDS = 3600;

function differenceWord(what: SnapshotDifference["what"]): string {
    switch (what) {
    case "added": return _("added");
    case "changed": return _("changed");
    case "permissions": return _("other permissions");
    case "moved": return _("moved");
    case "removed": return _("removed");
    }
}

/** `SHARE@SNAPSHOT/DIRECTORY` */
const placeOf = ({ share, name }: SnapshotRow, path: readonly string[]) => [`${share}@${name}`, ...path].join("/");

export function SnapshotFiles({ row, onClose }: { row: SnapshotRow; onClose: () => void }): JSX.Element {
    const [path, setPath] = useState<readonly string[]>([]);
    const [comparing, setComparing] = useState(false);
    return (
        <Modal isOpen variant="large" onClose={onClose} aria-labelledby="snapshot-files-title" aria-describedby="snapshot-files-body">
            <ModalHeader title={format(_("Files of the snapshot $0"), row.name)} labelId="snapshot-files-title" />
            <ModalBody id="snapshot-files-body" tabIndex={0}>
                <div className="mr-stack">
                    <div className="mr-row-actions">
                        {[row.share, ...path].map((name, depth) => (
                            <Button key={[...path.slice(0, depth), name].join("/")} variant="link" size="sm" isDisabled={depth === path.length}
                                onClick={() => setPath(path.slice(0, depth))}>{name}/</Button>
                        ))}
                        <Button variant="secondary" size="sm" onClick={() => setComparing(!comparing)}>
                            {comparing ? _("Show the files") : _("Compare with the share")}
                        </Button>
                    </div>
                    {comparing ? <Comparison key={path.join("/")} row={row} path={path} />
                        : <Entries key={path.join("/")} row={row} path={path} onOpen={(name) => setPath([...path, name])} />}
                </div>
            </ModalBody>
            <ModalFooter><Button variant="link" onClick={onClose}>{_("Close")}</Button></ModalFooter>
        </Modal>
    );
}

function Entries({ row, path, onOpen }: { row: SnapshotRow; path: readonly string[]; onOpen: (name: string) => void }): JSX.Element {
    const found = useVerb("snapshot browse", [placeOf(row, path)], { admin: true });
    const restore = useRestore();
    const columns: Column<SnapshotEntry>[] = [
        { title: _("Name"), heads: true, sort: ({ name }) => name, cell: ({ name, kind }) => (kind === "directory"
            ? <Button variant="link" isInline onClick={() => onOpen(name)}>{name}/</Button> : name) },
        { title: _("Size"), figures: true, sort: (entry) => entry.bytes, cell: (entry) => (entry.kind === "file" ? bytes(entry.bytes) : UNKNOWN) },
        { title: _("Changed"), sort: ({ changed }) => changed, cell: ({ changed }) => moment(changed) },
        { title: _("Actions"), cell: ({ name, kind }) => ((kind === "file" || kind === "directory") && (
            <AdminButton least="operator" variant="link" size="sm" isDisabled={restore.busy !== undefined} isLoading={restore.busy === name}
                aria-label={format(_("Restore $0"), name)} onClick={() => restore.go(name, placeOf(row, [...path, name]))}>{_("Restore")}</AdminButton>
        )) },
    ];
    return (
        <>
            <ErrorAlert error={restore.error} />
            {restore.done !== undefined && <Alert isInline variant="success" title={format(_("$0 is back in the share"), restore.done)} />}
            <p>{_("Restore puts a file or a directory back where it was. Nothing that the share has is replaced: rename or move it first.")}</p>
            <Loaded of={found} what={_("Loading files")}>
                {({ entries, more }) => (entries.length === 0 ? <p>{_("This directory is empty.")}</p> : (
                    <>
                        <DataTable label={_("Files")} columns={columns} rows={entries} rowKey={({ name }) => name} />
                        {more > 0 && <p>{format(_("… and $0 more"), number(more))}</p>}
                    </>
                ))}
            </Loaded>
        </>
    );
}

function counted(compared: SnapshotComparison): string {
    const { added, changed, permissions, moved, removed } = compared;
    if (added + changed + permissions + moved + removed === 0) return _("The share is as it was in the snapshot.");
    return format(_("Since the snapshot: $0 added, $1 changed, $2 with other permissions, $3 moved, $4 removed."),
        number(added), number(changed), number(permissions), number(moved), number(removed));
}

function Comparison({ row, path }: { row: SnapshotRow; path: readonly string[] }): JSX.Element {
    const found = useVerb("snapshot compare", [placeOf(row, path)], { admin: true, timeout: COMPARE_SECONDS });
    const columns: Column<SnapshotDifference>[] = [
        { title: _("Difference"), sort: ({ what }) => what, cell: ({ what }) => differenceWord(what) },
        { title: _("Name"), heads: true, sort: (entry) => entry.path, cell: (entry) => entry.path },
        { title: _("Before"), cell: ({ former }) => former ?? UNKNOWN },
        { title: _("Size"), figures: true, sort: (entry) => entry.bytes, cell: (entry) => (entry.kind === "file" ? bytes(entry.bytes) : UNKNOWN) },
    ];
    return (
        <Loaded of={found} what={_("Comparing all files")}>
            {(compared) => (
                <>
                    <p>{counted(compared)}</p>
                    {compared.unread > 0 && (
                        <p>{format(ngettext("$0 entry could not be compared: clients changed it, or reading failed.", "$0 entries could not be compared: clients changed them, or reading failed.", compared.unread),
                            number(compared.unread))}</p>
                    )}
                    {compared.entries.length > 0 && (
                        <DataTable label={_("Differences")} columns={columns} rows={compared.entries} rowKey={(entry) => `${entry.what} ${entry.path}`} />
                    )}
                    {compared.more > 0 && <p>{format(_("… and $0 more"), number(compared.more))}</p>}
                </>
            )}
        </Loaded>
    );
}

/** One at a time; a directory is cloned, which may take minutes. */
function useRestore(): { busy: string | undefined; done: string | undefined; error: CliError | undefined; go: (name: string, place: string) => void } {
    const [busy, setBusy] = useState<string>();
    const [done, setDone] = useState<string>();
    const [error, setError] = useState<CliError>();
    const stop = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => stop.current?.abort(), []);
    const go = (name: string, place: string) => {
        const signal = (stop.current = new AbortController()).signal;
        setBusy(name); setDone(undefined); setError(undefined);
        follow("snapshot get", [place], () => undefined, { admin: true, signal })
            .then(() => { if (!signal.aborted) setDone(name); }, (failed: CliError) => { if (!signal.aborted) setError(failed); })
            .finally(() => { if (!signal.aborted) setBusy(undefined); });
    };
    return { busy, done, error, go };
}
