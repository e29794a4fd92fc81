// SPDX-License-Identifier: Apache-2.0
/** Before there is a pool: the one that the drives carry, else the plan, its approval, its becoming. Afterwards: the pool as it is. */
import { useEffect, type JSX } from "react";
import type { Outputs } from "../../types/outputs";
import { PageHeader } from "../../components/PageHeader";
import { ErrorAlert, Loaded, Loading } from "../../components/States";
import { useVerb, type Result } from "../../lib/hooks";
import { _ } from "../../lib/i18n";
import { useJob, whileJob } from "../../lib/jobs";
import { useStatus } from "../../lib/status";
import { useBuilding } from "./useBuilding";
import { AdoptPanel } from "./AdoptPanel";
import { Adopting } from "./Adopting";
import { Building } from "./Building";
import { PlanPage } from "./PlanPage";
import { PoolPage } from "./PoolPage";
import "./storage.css";

/** Seconds: an adoption takes some; and a drive that comes late may carry a pool. */
const EVERY_OF_JOB = 3;
const EVERY = 15;

export default function Storage(): JSX.Element {
    const status = useStatus();
    const building = useBuilding(status);
    const without = status.data?.pool === null;
    const found = useVerb("pool found", [], { every: EVERY, ...whileJob(useJob("adopt"), EVERY_OF_JOB), when: without });
    // The pool is there with the end of the adoption.
    const adopted = Boolean(found.data?.adopted);
    const { reload } = status;
    useEffect(() => { if (without && adopted) reload(); }, [without, adopted, reload]);
    return (
        <>
            <PageHeader title={_("Storage")}>{subtitle(without, found.data)}</PageHeader>
            <Loaded of={status} what={_("Loading server status")}>
                {(data) => {
                    if (data.pool !== null) return <PoolPage live={data.jobs} health={data.health} />;
                    if (building.now !== undefined) return <Building now={building.now} />;
                    return <WithoutPool found={found} building={building} />;
                }}
            </Loaded>
        </>
    );
}

function subtitle(without: boolean, here: Outputs["pool found"] | undefined): string {
    if (!without) return _("Arrays, drives, file system and share usage.");
    return here?.found?.pool || here?.adoption
        ? _("No drive of this pool is erased.")
        : _("The pool is built only after exactly this plan is approved.");
}

function WithoutPool({ found, building }: { found: Result<Outputs["pool found"]>; building: ReturnType<typeof useBuilding> }): JSX.Element {
    const { data, error, reload } = found;
    if (data === undefined && error === undefined) return <Loading what={_("Loading plan")} />;
    const pool = data?.found?.pool;
    if (data?.adoption) return <Adopting adoption={data.adoption} running={data.running} progress={data.progress} host={pool?.kept?.host} reload={reload} />;
    return (
        <>
            <ErrorAlert error={error} />
            {data?.found && pool
                ? <AdoptPanel found={data.found} pool={pool} reload={reload} />
                : <PlanPage approve={building.approve} error={building.error} />}
        </>
    );
}
