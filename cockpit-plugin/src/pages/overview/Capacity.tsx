// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Space } from "../../types/millrace";
import { Panel } from "../../components/Panel";
import { Usage } from "../../components/Usage";
import { binary, bytes } from "../../lib/format";
import { _, format } from "../../lib/i18n";
import { link } from "../../lib/route";

/** `forecast` is the sentence on when it is full. */
export function Capacity({ pool, space, forecast }: { pool: boolean; space: Space | null; forecast: string | undefined }): JSX.Element {
    return (
        <Panel title={_("Capacity")} testId="capacity" actions={pool && <a href={link("storage")}>{_("Storage")}</a>}>
            {space === null
                ? <p>{pool ? _("Unknown: the pool is not mounted.") : _("No pool yet.")}</p>
                : (
                    <>
                        <p className="mr-figure">{format(_("$0 free"), bytes(space.free))}</p>
                        <Usage label={_("Capacity of the pool")} used={space.used} size={space.size} />
                        <small className="mr-subtle">{format(_("Size shown to clients: $0."), binary(space.size))}</small>
                        {forecast !== undefined && <p data-testid="forecast"><small className="mr-subtle">{forecast}</small></p>}
                    </>
                )}
        </Panel>
    );
}
