// SPDX-License-Identifier: Apache-2.0
/** The pool as it is now. */
import { useCallback, useEffect, type JSX } from "react";
import type { CurrentJob, DriveRow, Health, HealthFinding, HistoryReport, LiveFilesystem, PoolState, ShareUsage } from "../../types/millrace";
import { DataTable } from "../../components/DataTable";
import { asLevel, HealthLabel, Verdict } from "../../components/Health";
import { HealthFindings, worstFirst } from "../../components/HealthFindings";
import { allOf, HistoryPanel, namedLines, type HistoryFigure } from "../../components/HistoryPanel";
import { JobPanel } from "../../components/JobView";
import { Panel } from "../../components/Panel";
import { Loaded } from "../../components/States";
import { Usage } from "../../components/Usage";
import { binary, bytes, moment } from "../../lib/format";
import { useVerb } from "../../lib/hooks";
import { _, format, ngettext } from "../../lib/i18n";
import { useJob, whileJob } from "../../lib/jobs";
import { go, link, useRoute } from "../../lib/route";
import { useStatus } from "../../lib/status";
import { Adopted } from "./Adopting";
import { ArrayPanel } from "./ArrayPanel";
import { CameHome } from "./CameHome";
import { ChangePanel } from "./ChangeProgress";
import { DestroyPanel } from "./DestroyPanel";
import { DriveAttention } from "./DriveAttention";
import { DriveDialog } from "./DriveDialogs";
import { DrivesPanel } from "./DrivesPanel";
import { GrowButton } from "./GrowDialog";
import { PlanInForce } from "./PlanInForce";
import { RescuePanel } from "./RescuePanel";
import { ScrubPanel } from "./ScrubPanel";
import { useDrives } from "./useDrives";
import { arrayTones, cameHome } from "./words";

/** Seconds: a rebuild must be seen to move. */
const EVERY = 3;

/** The checks of health that are about what this page shows. */
const CHECKS = ["pool", "arrays", "backend", "scrub", "trim", "filesystem", "drives", "returns", "apart", "slots", "keep"];

export function PoolPage({ live, health }: { live: CurrentJob[]; health: Health }): JSX.Element {
    const pool = useVerb("pool show", [], { admin: "allowed", every: EVERY });
    const { reload } = pool;
    const [, ...path] = useRoute().path;
    const drives = useDrives(path.length > 0);
    const { reload: listAgain } = drives;
    const progress = useVerb("drive progress", [], whileJob(useJob("drive-change"), EVERY));
    // A job that came or went changes the arrays and the drives.
    const names = live.map(({ name, what }) => `${name} ${what}`).join();
    useEffect(() => { reload(); listAgain(); }, [names, reload, listAgain]);
    const { reload: askAgain } = useStatus();
    // Health finds a pool that came home; this is asked until that is decided.
    const here = useVerb("pool found", [], health.findings.some(cameHome) ? { every: EVERY } : {});
    const { reload: lookAgain } = here;
    const decided = useCallback(() => { lookAgain(); askAgain(); reload(); }, [lookAgain, askAgain, reload]);
    const arrays = pool.data?.arrays ?? [];
    const close = useCallback(() => go(["storage"]), []);
    return (
        <>
            <RescuePanel health={health} drives={drives.data?.drives ?? []} />
            <Adopted done={here.data?.adopted ?? null} />
            <CameHome elsewhere={here.data?.elsewhere ?? null} onDone={decided} />
            <ChangePanel progress={progress} arrays={arrays} />
            <JobPanel kind="revive" />
            <JobPanel kind="unclean" />
            <JobPanel kind="erase" />
            <JobPanel kind="damaged-files" />
            <JobPanel kind="trim" />
            <JobPanel kind="destroy" onEnded={askAgain} />
            <DriveAttention rows={drives.data?.drives ?? []} />
            <Troubles findings={health.findings.filter((one) => !(here.data?.elsewhere && cameHome(one)))} />
            <Loaded of={pool} what={_("Loading pool")}>{(data) => <Shown pool={data} grow={<GrowButton arrays={arrays} progress={progress} reload={reload} />} />}</Loaded>
            <ScrubPanel />
            <DrivesPanel drives={drives} />
            <HistoryPanel title={_("History of the pool and its drives")} testId="storage-history" first="30d"
                kinds={["pool", "drives", "share-used", "drive-temperature", "drive-wear"]} figures={figures(drives.data?.drives ?? [])}
                below={forecastOf} />
            <PlanInForce />
            <DestroyPanel onDone={askAgain} />
            {drives.data && <DriveDialog path={path} rows={drives.data.drives} arrays={arrays} progress={progress} reload={listAgain} onClose={close} />}
        </>
    );
}

/** The same words as on the overview, where they are about storage. */
function Troubles({ findings }: { findings: HealthFinding[] }): JSX.Element | null {
    const open = worstFirst(findings).filter(({ check, level }) => CHECKS.includes(check) && level !== "OK");
    const [worst] = open;
    if (worst === undefined) return null;
    return (
        <Verdict id="storage-verdict" level={asLevel(worst.level)}
            title={format(ngettext("$0 finding needs attention", "$0 findings need attention", open.length), open.length)}>
            <HealthFindings findings={open} />
        </Verdict>
    );
}

const forecastOf = ({ forecast }: HistoryReport) => forecast?.sentence;

/** The hottest and the most worn drives; all of them are in the list of drives. */
function figures(rows: readonly DriveRow[]): HistoryFigure[] {
    const place = (serial: string) => {
        const bay = rows.find((one) => one.serial === serial)?.bay;
        return bay ? format(_("Bay $0"), bay) : serial;
    };
    const highest = (name: string) => (report: HistoryReport) => allOf(name, place)(report).sort((a, b) => (b.series.peak ?? 0) - (a.series.peak ?? 0));
    return [
        { title: _("Capacity"), lines: namedLines({ "pool-used": _("Used"), "pool-size": _("Size") }) },
        { title: _("Share usage"), lines: (report) => allOf("share-used")(report).sort((a, b) => (b.series.last ?? 0) - (a.series.last ?? 0)) },
        { title: _("All drives of the pool"), lines: namedLines({ "drives-read": _("Read"), "drives-write": _("Write") }) },
        { title: _("Temperature of the hottest drives"), lines: highest("drive-temperature") },
        { title: _("Wear of the most worn drives"), lines: highest("drive-wear") },
    ];
}

function Shown({ pool, grow }: { pool: PoolState; grow: JSX.Element }): JSX.Element {
    const colours = arrayTones(pool.arrays);
    return (
        <>
            {pool.notes.map((text) => <p key={text} className="mr-subtle">{text}</p>)}
            <div className="mr-grid mr-grid-wide">
                {pool.arrays.map((one) => <ArrayPanel key={one.name} array={one} tone={colours.get(one.name) ?? "port"} />)}
                <FilesystemPanel pool={pool} grow={grow} />
                <SharesPanel shares={pool.shares} />
            </div>
            <small className="mr-subtle">
                {format(_("Created $0 from plan"), moment(pool.created))} <code className="mr-hash">{pool.plan_sha256}</code>
            </small>
        </>
    );
}

function FilesystemPanel({ pool: { filesystem, backends }, grow }: { pool: PoolState; grow: JSX.Element }): JSX.Element {
    const { mounted, read_only } = filesystem;
    return (
        <Panel title={format(_("File system $0"), filesystem.mountpoint)} testId="filesystem" actions={!mounted
            ? <HealthLabel level="FAIL">{_("not mounted")}</HealthLabel>
            : read_only
                ? <HealthLabel level="FAIL">{_("read-only")}</HealthLabel>
                : <HealthLabel level="OK">{_("mounted")}</HealthLabel>}>
            <Usage label={_("Usage of the file system")} used={filesystem.used} size={filesystem.size} />
            <dl className="mr-pairs">
                <div><dt>{_("Free")}</dt><dd>{bytes(filesystem.free)}</dd></div>
                <div><dt>{_("Kind")}</dt><dd>XFS</dd></div>
                {backends.map(({ serial, role, device }) => (
                    <div key={role}><dt>{_("external device")}</dt><dd>{serial} {device ?? _("missing")}</dd></div>
                ))}
                <div><dt>{_("Log")}</dt><dd>{logPlace(filesystem, backends.length > 0)}</dd></div>
            </dl>
            {mounted && backends.length === 0 && <div className="mr-actions">{grow}</div>}
        </Panel>
    );
}

function logPlace({ log, log_size }: LiveFilesystem, external: boolean): string {
    if (log === null) return _("inside the file system");
    return external ? format(_("log of $0 on its own device"), binary(log_size)) : format(_("$0 on array $1"), binary(log_size), log);
}

function SharesPanel({ shares }: { shares: ShareUsage[] }): JSX.Element {
    return (
        <Panel title={_("Share usage")} testId="usage">
            {shares.length === 0
                ? <p>{_("No shares.")} <a href={link("shares")}>{_("Create a share")}</a></p>
                : <DataTable label={_("Usage by share")} rows={shares} rowKey={({ name }) => name} columns={[
                    { title: _("Share"), cell: ({ name }) => <a href={link("shares", name)}>{name}</a>, sort: ({ name }) => name, heads: true },
                    { title: _("Used"), cell: (one) => <Usage label={format(_("Usage of $0"), one.name)} used={one.used} size={one.size} soft={one.soft_size} />, sort: ({ used }) => used ?? -1 },
                ]} />}
        </Panel>
    );
}
