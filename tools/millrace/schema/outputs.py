# SPDX-License-Identifier: Apache-2.0
"""Every verb that takes `--json`, and the model of what it prints: whoever adds a verb adds its line."""

# "verb words": "module:model". A verb with an option that prints something else has a line with the option.
OUTPUTS = {
    "admin check": "millrace.admin.create:CheckReport",
    "admin create": "millrace.admin.create:AdminReport",
    "approve": "millrace.provision.follow:ApproveLine",
    "assemble": "millrace.provision.model:Pool",
    "client expect": "millrace.client.model:Expect",
    "client recipe": "millrace.client.model:Recipe",
    "client zone": "millrace.client.model:Zone",
    "config history": "millrace.config.verbs:History",
    "config import": "millrace.config.replace:ReplaceReport",
    "config rollback": "millrace.config.replace:ReplaceReport",
    "config show": "millrace.config.model:Config",
    "group create": "millrace.config.model:Group",
    "group list": "millrace.user.edit:GroupList",
    "health": "millrace.health.model:Health",
    "inventory": "millrace.inventory.model:Inventory",
    "plan": "millrace.plan.model:PlanFile",
    "plan --explain": "millrace.plan.explain:Explanation",
    "pool show": "millrace.provision.model:Pool",
    "pool verify": "millrace.provision.model:Pool",
    "provision": "millrace.provision.apply:Outcome",
    "provision --dry-run": "millrace.provision.apply:Steps",
    "schema": "millrace.schema.document:Schema",
    "session list": "millrace.share.session:SessionList",
    "share create": "millrace.share.model:ChangeReport",
    "share list": "millrace.share.model:ShareList",
    "share remove": "millrace.share.model:ChangeReport",
    "share render": "millrace.share.model:RenderReport",
    "share set": "millrace.share.model:ChangeReport",
    "status": "millrace.health.status:Status",
    "tune": "millrace.tune.model:TuneReport",
    "user create": "millrace.config.model:User",
    "user list": "millrace.user.edit:UserList",
    "user render": "millrace.user.edit:UserList",
    "user set": "millrace.config.model:User",
}

# These print lines, one JSON document each, until they are done; the others print one document.
LINES = ("approve",)
