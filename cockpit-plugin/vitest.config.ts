// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config";

export default defineConfig({
    test: {
        environment: "jsdom",
        include: ["test/unit/**/*.test.{ts,tsx}"],
        setupFiles: ["test/setup.ts"],
        restoreMocks: true,
        // A form filled in letter by letter, on a host that builds an image meanwhile.
        testTimeout: 60_000,
        // PatternFly's ES modules import style sheets, which only a bundler or this understands.
        server: { deps: { inline: [/@patternfly/] } },
        css: false,
    },
});
