# SPDX-License-Identifier: Apache-2.0
"""Millrace's own metrics as text for Prometheus, and the endpoint that adds those of node_exporter."""
