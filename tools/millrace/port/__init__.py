# SPDX-License-Identifier: Apache-2.0
"""The network ports of this server and the fixed addresses that a person gives them."""
