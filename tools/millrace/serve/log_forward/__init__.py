# SPDX-License-Identifier: Apache-2.0
"""The journal on another host: sign-ins and changes remain known when this server is lost or compromised."""
