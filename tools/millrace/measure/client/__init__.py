# SPDX-License-Identifier: Apache-2.0
"""Settings for fast clients: mount recipes for each workload, objects for Kubernetes, sheets for MLPerf Storage."""
