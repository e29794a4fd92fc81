# SPDX-License-Identifier: Apache-2.0
"""What can be chosen for a share: the models, the command line and the pages use the same enumerations.

Apart from the models, so that the command line shows its options without loading pydantic.
"""

from typing import Literal

ShareType = Literal["training", "checkpoint", "dataset-ro", "home", "mixed"]
Writing = Literal["together", "own", "some"]
Access = Literal["ro", "rw"]
Squash = Literal["root", "all", "none"]
Security = Literal["sys", "krb5", "krb5i", "krb5p"]
Transport = Literal["none", "tls", "mtls"]
Encryption = Literal["offered", "required"]
