// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "react";
import "@patternfly/react-styles/css/components/Tabs/tabs.css";

/** Links that look like tabs: every page has an address that can be kept. */
export function Tabs({ label, tabs, current }: {
    label: string; tabs: { id: string; title: string; href: string }[]; current: string;
}): JSX.Element {
    return (
        <nav className="pf-v6-c-tabs pf-m-page-insets" aria-label={label}>
            <ul className="pf-v6-c-tabs__list">
                {tabs.map(({ id, title, href }) => (
                    <li key={id} className={`pf-v6-c-tabs__item${id === current ? " pf-m-current" : ""}`}>
                        <a className="pf-v6-c-tabs__link" href={href} {...(id === current && { "aria-current": "page" })}>
                            <span className="pf-v6-c-tabs__item-text">{title}</span>
                        </a>
                    </li>
                ))}
            </ul>
        </nav>
    );
}
