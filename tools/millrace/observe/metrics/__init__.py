# SPDX-License-Identifier: Apache-2.0
"""Metrics of the server as OpenMetrics text, and the endpoint from which a monitoring system gets them."""
