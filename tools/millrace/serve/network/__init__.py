# SPDX-License-Identifier: Apache-2.0
"""The network ports of this server and their fixed addresses."""
