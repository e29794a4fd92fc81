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
    "group create": "millrace.user.edit:AccountReport",
    "group list": "millrace.user.edit:GroupList",
    "group remove": "millrace.user.edit:AccountReport",
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
    "share create --dry-run": "millrace.share.model:Preview",
    "share list": "millrace.share.model:ShareList",
    "share remove": "millrace.share.model:ChangeReport",
    "share render": "millrace.share.model:RenderReport",
    "share set": "millrace.share.model:ChangeReport",
    "share set --dry-run": "millrace.share.model:Preview",
    "share verify": "millrace.share.model:LookReport",
    "status": "millrace.health.status:Status",
    "tune": "millrace.tune.model:TuneReport",
    "user create": "millrace.user.edit:AccountReport",
    "user list": "millrace.user.edit:UserList",
    "user passwd": "millrace.user.edit:AccountReport",
    "user remove": "millrace.user.edit:AccountReport",
    "user render": "millrace.user.edit:UserList",
    "user set": "millrace.user.edit:AccountReport",
}

# These print lines, one JSON document each, until they are done; the others print one document.
LINES = ("approve",)
