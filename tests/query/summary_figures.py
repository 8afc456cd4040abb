# SPDX-License-Identifier: Apache-2.0
"""summary_figures.py: nearest-rank percentiles by their definition."""


def percentile(values, percent):
    """The least value that at least `percent` of all do not exceed."""
    values = sorted(values)
    return next(v for i, v in enumerate(values, 1) if 100 * i >= percent * len(values))
