// SPDX-License-Identifier: Apache-2.0
import { useState, type JSX } from "react";
import { Alert, AlertActionCloseButton } from "@patternfly/react-core/dist/esm/components/Alert/index.js";
import type { VolumeReport, VolumeRow } from "../../types/millrace";
import { AdminButton } from "../../components/AdminButton";
import { CheckFindings } from "../../components/CheckFindings";
import { PageHeader } from "../../components/PageHeader";
import { Panel } from "../../components/Panel";
import { Empty, Loaded, NoAdmin } from "../../components/States";
import { useVerb } from "../../lib/hooks";
import { _, format } from "../../lib/i18n";
import { useMay } from "../../lib/permission";
import { link } from "../../lib/route";
import { useStatus } from "../../lib/status";
import { CreateVolume } from "./CreateVolume";
import { CloneDialog, ConnectDialog, ConnectLines, DetachDialog, ExportDialog, RemoveDialog, ResizeDialog } from "./dialogs";
import { VolumeTable } from "./VolumeTable";
import "./volumes.css";

const EVERY = 10;

type Dialog = "connect" | "export" | "resize" | "clone" | "detach" | "remove";

/** What a change did, kept above the page until it is closed. */
interface Done {
    title: string;
    report: VolumeReport;
    /** It was exported: with the lines that connect it. */
    lines: boolean;
}

function DoneAlert({ done: { title, report, lines }, onClose }: { done: Done; onClose: () => void }): JSX.Element {
    const { volume, warnings } = report;
    return (
        <Alert variant={warnings.length > 0 ? "warning" : "success"} isInline title={title} role="status" data-testid="done"
            actionClose={<AlertActionCloseButton onClose={onClose} aria-label={_("Close")} />}>
            {warnings.map((line) => <p key={line}>{line}</p>)}
            {lines && volume !== null && volume.connect.length > 0 && <ConnectLines volume={volume} />}
        </Alert>
    );
}

function NoPool(): JSX.Element {
    return (
        <Empty title={_("No pool yet")} actions={<a href={link("storage")}>{_("Go to the plan")}</a>}>
            {_("Volumes are on the pool. Approve the plan first.")}
        </Empty>
    );
}

/** Where volumes are, only root enters: nobody else can tell whether there are any. */
function List({ onCreate, onOpen, list }: {
    onCreate: () => void; onOpen: (dialog: Dialog, volume: VolumeRow) => void; list: ReturnType<typeof useVerb<"volume list">>;
}): JSX.Element {
    return (
        <Loaded of={list} what={_("Loading volumes")}>
            {({ volumes }) => (volumes.length > 0
                ? (
                    <VolumeTable volumes={volumes} onConnect={(one) => onOpen("connect", one)} onExport={(one) => onOpen("export", one)}
                        onResize={(one) => onOpen("resize", one)} onClone={(one) => onOpen("clone", one)}
                        onDetach={(one) => onOpen("detach", one)} onRemove={(one) => onOpen("remove", one)} />
                )
                : (
                    <Empty title={_("No volumes yet")} actions={<AdminButton variant="primary" onClick={onCreate}>{_("New volume")}</AdminButton>}>
                        {_("A volume is a block device of the pool for one host that connects over NVMe/TCP or NVMe/RDMA.")}
                    </Empty>
                ))}
        </Loaded>
    );
}

export default function Volumes(): JSX.Element {
    const admin = useMay("viewer");
    const status = useStatus();
    const noPool = status.data?.pool === null;
    const list = useVerb("volume list", [], { admin: true, every: EVERY, when: admin === true && !noPool && (status.data !== undefined || status.error !== undefined) });
    const [creating, setCreating] = useState(false);
    const [opened, setOpened] = useState<{ dialog: Dialog; volume: VolumeRow }>();
    const [done, setDone] = useState<Done>();
    const taken = list.data?.volumes.map(({ name }) => name) ?? [];

    const close = () => { setCreating(false); setOpened(undefined); };
    const changed = (title: string, lines = false) => (report: VolumeReport) => {
        setDone({ title: format(title, report.name), report, lines });
        close();
        list.reload();
        status.reload();
    };
    const about = opened === undefined ? undefined : { volume: opened.volume, onClose: close };
    return (
        <>
            <PageHeader title={_("Volumes")} actions={(
                <AdminButton variant="primary" isDisabled={noPool || (admin !== false && list.data === undefined)} onClick={() => setCreating(true)}>{_("New volume")}</AdminButton>
            )}>
                {_("Block devices of the pool for hosts that connect over NVMe/TCP or NVMe/RDMA.")}
            </PageHeader>
            {done !== undefined && <DoneAlert done={done} onClose={() => setDone(undefined)} />}
            <CheckFindings checks={["volumes"]} />
            <Panel title={_("Volumes")} wide testId="volume-list">
                {noPool
                    ? <NoPool />
                    : admin === false
                        ? <NoAdmin what={_("Listing volumes requires administrative access.")} />
                        : <List list={list} onCreate={() => setCreating(true)} onOpen={(dialog, volume) => setOpened({ dialog, volume })} />}
            </Panel>
            {creating && <CreateVolume taken={taken} onClose={close} onDone={changed(_("Volume $0 has been created."), true)} />}
            {about !== undefined && opened?.dialog === "connect" && <ConnectDialog {...about} />}
            {about !== undefined && opened?.dialog === "export" && <ExportDialog {...about} onDone={changed(_("Volume $0 is exported."), true)} />}
            {about !== undefined && opened?.dialog === "resize" && <ResizeDialog {...about} onDone={changed(_("Volume $0 has been resized."))} />}
            {about !== undefined && opened?.dialog === "clone" && <CloneDialog {...about} taken={taken} onDone={changed(_("Volume $0 has been created as a clone."))} />}
            {about !== undefined && opened?.dialog === "detach" && <DetachDialog {...about} onDone={changed(_("Volume $0 is no longer exported; its data stays."))} />}
            {about !== undefined && opened?.dialog === "remove" && <RemoveDialog {...about} onDone={changed(_("Volume $0 and its data have been removed."))} />}
        </>
    );
}
