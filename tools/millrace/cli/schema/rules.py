# SPDX-License-Identifier: Apache-2.0
"""What the forms of the pages check and offer, by its name there: a form that needs another rule adds its line.

A limit that only code can see, such as whether a user exists, has no line: the form asks a dry run of its verb.
"""

# "name": "module:rule or type of a text"
TEXTS = {
    "accountName": "millrace.system.names:account_name",
    "client": "millrace.system.names:client",
    "comment": "millrace.system.names:comment",
    "dhchapSecret": "millrace.system.nvme:dhchap_secret",
    "fullName": "millrace.system.names:full_name",
    "hostAddress": "millrace.system.names:host_address",
    "hostName": "millrace.system.names:host_name",
    "hostNqn": "millrace.system.nvme:host_nqn",
    "joiningAccount": "millrace.serve.config.domain_names:joining_account",
    "mailAddress": "millrace.observe.alert.addresses:mail_address",
    "metricsReader": "millrace.observe.metrics.endpoint:reader",
    "network": "millrace.system.names:network",
    "organisationalUnit": "millrace.serve.config.domain_names:organisational_unit",
    "password": "millrace.serve.account.password:PASSWORD",
    "realm": "millrace.serve.config.domain_names:realm",
    "recipeUser": "millrace.measure.client.smb:USER",
    "routeName": "millrace.observe.alert.addresses:route_name",
    "shareName": "millrace.system.names:share_name",
    "size": "millrace.serve.share.options:SIZE",
    "smbAccount": "millrace.serve.config.domain_names:smb_account",
    "volumeName": "millrace.serve.volume.model:volume_name",
    "volumeSize": "millrace.serve.volume.model:volume_size",
}

# "NAME": "module:enumeration"
CHOICES = {
    "ACCELERATORS": "millrace.measure.client.choices:Accelerator",
    "GPUS": "millrace.measure.client.choices:Gpu",
    "MAIL_SECURITIES": "millrace.observe.alert.model:Security",
    "PROTOCOLS": "millrace.measure.client.choices:Protocol",
    "SECURITIES": "millrace.serve.config.choices:Security",
    "SHARE_TYPES": "millrace.serve.config.choices:ShareType",
    "WRITINGS": "millrace.serve.config.choices:Writing",
    "SQUASHES": "millrace.serve.config.choices:Squash",
    "TRANSPORTS": "millrace.serve.config.choices:Transport",
    "TUNER_PROFILES": "millrace.measure.tuner.search.goals:ProfileName",
    "VOLUME_TRANSPORTS": "millrace.serve.volume.model:Transport",
    "WORKLOADS": "millrace.measure.client.choices:ClientWorkload",
}
