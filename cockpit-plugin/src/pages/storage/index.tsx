// SPDX-License-Identifier: Apache-2.0
/** Before there is a pool: the plan, its approval, its becoming. Afterwards: the pool as it is. */
import type { JSX } from "react";
import { PageHeader } from "../../components/PageHeader";
import { Loaded } from "../../components/States";
import { _ } from "../../lib/i18n";
import { useStatus } from "../../lib/status";
import { useBuilding } from "./useBuilding";
import { Building } from "./Building";
import { PlanPage } from "./PlanPage";
import { PoolPage } from "./PoolPage";
import "./storage.css";

export default function Storage(): JSX.Element {
    const status = useStatus();
    const building = useBuilding(status);
    return (
        <>
            <PageHeader title={_("Storage")}>{status.data?.pool === null
                ? _("No drive is written before exactly this plan is approved.")
                : _("Arrays, drives, file system and share usage.")}</PageHeader>
            <Loaded of={status} what={_("Loading server status")}>
                {(data) => {
                    if (data.pool !== null) return <PoolPage live={data.jobs} health={data.health} />;
                    if (building.now !== undefined) return <Building now={building.now} />;
                    return <PlanPage approve={building.approve} error={building.error} />;
                }}
            </Loaded>
        </>
    );
}
