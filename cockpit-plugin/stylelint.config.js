// SPDX-License-Identifier: Apache-2.0
/** @type {import("stylelint").Config} */
export default {
    extends: "stylelint-config-standard",
    rules: {
        // Ours are kebab-case; PatternFly's have its double dashes and underscores.
        "custom-property-pattern": "^(mr-[a-z0-9-]+|pf-(t|v6)-.+)$",
        "selector-class-pattern": "^(mr-[a-z0-9-]+|pf-v6-.+)$",
        // A file is read in groups: what belongs together stands without an empty line between.
        "at-rule-empty-line-before": null,
        "comment-empty-line-before": null,
        "custom-property-empty-line-before": null,
        "rule-empty-line-before": null,
    },
};
