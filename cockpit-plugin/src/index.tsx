// SPDX-License-Identifier: Apache-2.0
import "@patternfly/patternfly/patternfly-base.css";
import "./app.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { Boundary } from "./components/Boundary";
import { followTheme } from "./lib/theme";

followTheme();
document.documentElement.lang = cockpit.language.replace("_", "-") || "en";
// Cockpit shows its spinner over the page until the page has opened a connection.
cockpit.transport.wait(() => {
    const place = document.getElementById("app");
    if (place === null) throw new Error("index.html has no #app");
    createRoot(place).render(<StrictMode><Boundary><App /></Boundary></StrictMode>);
});
