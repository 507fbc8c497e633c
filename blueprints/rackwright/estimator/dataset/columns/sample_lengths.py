"""Lengths of the samples of a fine-tuning row: printed in its notes, or those of the data set that its trainer uses by default."""

import re

from rackwright.estimator.dataset.columns.cells import PrintedRow

MEAN = re.compile(r"\(mean (\d+), max \d+ tokens\)")
"""Mean tokens of a data set whose samples are truncated to the printed length."""
GROUPED = re.compile(r"padding excluded")
"""Rates that count real tokens. PEFT's benchmark groups samples of similar length (BucketIterator), so that little padding is computed."""
GROUPED_MEAN = 210.0
"""Mean tokens of a sample of MetaMathQA with Llama 3's tokenizer, the data set of PEFT's benchmark (method_comparison/MetaMathQA)."""
UNPACKED_MEAN = 220.0
"""Mean tokens of an Alpaca sample: 1,304 tokens at most with Llama's tokenizer (LitGPT's own tables), and the longest sample is about six
times the mean."""
CAPPED = re.compile(r"seq_len is (the|a) cap")
"""Rows whose length is a limit, and whose samples have an unknown length."""


def printed_mean_tokens(row: PrintedRow) -> float | None:
    """Return the printed mean tokens of a sample before truncation; None when the row has none."""
    mean = MEAN.search(row.notes)
    return float(mean.group(1)) if mean else None


def grouped_tokens(row: PrintedRow) -> float | None:
    """Return the tokens of a sample where samples of equal length share a micro-batch; None for other rows."""
    return GROUPED_MEAN if GROUPED.search(row.notes) else None


def counted_sample_tokens(row: PrintedRow) -> float | None:
    """Return the tokens that a rate in samples/s stands for; None when the length of the samples is unknown, as after truncation."""
    length = row.count("seq_len")
    is_unknown = CAPPED.search(row.notes) or printed_mean_tokens(row)
    return float(length) if length and not is_unknown else None
