// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import type { Recipe } from "../../types/millrace";
import { _, format, ngettext } from "../../lib/i18n";
import "../../charts/charts.css";
import { isSmb } from "./choice";
import { lanesOf } from "./lanes";

const WIDTH = 640;
const ROW = 64;
const BOX = 150;
/** Lines that one address gets at most in the picture; the figure beside them is exact. */
const DRAWN = 16;

/** The client, the addresses of the server, and a line for each connection between them. */
export function LanesPicture({ recipe }: { recipe: Recipe }): JSX.Element {
    const lanes = lanesOf(recipe);
    const height = lanes.length * ROW + 16;
    const count = (n: number) => format(ngettext("$0 connection", "$0 connections", n), n);
    const said = lanes.map(({ address, connections }) => `${address}: ${count(connections)}`).join("; ");
    return (
        <figure className="mr-chart-figure" data-testid="lanes">
            <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={format(_("Connections of this mount. $0"), said)} className="mr-lanes">
                <rect className="mr-box" x="1" y="8" width={BOX} height={height - 16} rx="6" />
                <text className="mr-box-text" x={BOX / 2} y={height / 2} textAnchor="middle" dominantBaseline="middle">{_("Client")}</text>
                {lanes.map(({ address, connections }, row) => {
                    const top = 8 + row * ROW + 4;
                    const drawn = Math.min(connections, DRAWN);
                    return (
                        <g key={address}>
                            {Array.from({ length: drawn }, (_one, index) => {
                                const y = top + ((index + 1) * (ROW - 8)) / (drawn + 1);
                                return <line key={index} className={`mr-lane mr-tone-${row % 5}`} x1={BOX + 1} x2={WIDTH - BOX - 60} y1={y} y2={y} />;
                            })}
                            <rect className="mr-box" x={WIDTH - BOX - 60} y={top} width={BOX + 59} height={ROW - 8} rx="6" />
                            <text className="mr-box-text" x={WIDTH - (BOX + 60) / 2} y={top + 23} textAnchor="middle">{address}</text>
                            <text className="mr-box-small" x={WIDTH - (BOX + 60) / 2} y={top + 42} textAnchor="middle">{count(connections)}</text>
                        </g>
                    );
                })}
            </svg>
            <figcaption className="mr-subtle">
                {lanes.length > 1
                    ? format(_("$0 in one session, over $1 server addresses."), count(recipe.expect.lanes), lanes.length)
                    : isSmb(recipe.protocol)
                        ? format(_("Up to $0; additional channels use the other ports that the server advertises."), count(recipe.expect.lanes))
                        : format(_("$0, all to one server address."), count(recipe.expect.lanes))}
            </figcaption>
        </figure>
    );
}
