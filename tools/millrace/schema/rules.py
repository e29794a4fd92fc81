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
    "hostAddress": "millrace.system.names:host_address",
    "hostName": "millrace.system.names:host_name",
    "hostNqn": "millrace.system.nvme:host_nqn",
    "joiningAccount": "millrace.state.domain_names:joining_account",
    "mailAddress": "millrace.alert.addresses:mail_address",
    "metricsReader": "millrace.metrics.endpoint:reader",
    "network": "millrace.system.names:network",
    "organisationalUnit": "millrace.state.domain_names:organisational_unit",
    "password": "millrace.user.password:PASSWORD",
    "realm": "millrace.state.domain_names:realm",
    "recipeUser": "millrace.client.smb:USER",
    "routeName": "millrace.alert.addresses:route_name",
    "shareName": "millrace.system.names:share_name",
    "size": "millrace.share.options:SIZE",
    "smbAccount": "millrace.state.domain_names:smb_account",
    "volumeName": "millrace.volume.model:volume_name",
    "volumeSize": "millrace.volume.model:volume_size",
}

# "NAME": "module:enumeration"
CHOICES = {
    "ACCELERATORS": "millrace.client.choices:Accelerator",
    "GPUS": "millrace.client.choices:Gpu",
    "MAIL_SECURITIES": "millrace.alert.model:Security",
    "PROTOCOLS": "millrace.client.choices:Protocol",
    "SECURITIES": "millrace.state.choices:Security",
    "SHARE_TYPES": "millrace.state.choices:Profile",
    "SQUASHES": "millrace.state.choices:Squash",
    "TRANSPORTS": "millrace.state.choices:Transport",
    "TUNER_PROFILES": "millrace.tuner.search.goals:ProfileName",
    "VOLUME_TRANSPORTS": "millrace.volume.model:Transport",
    "WORKLOADS": "millrace.client.choices:Profile",
}
