"""Numbers, rejections and evidence as text."""

import pytest
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Assumption
from rackwright.sizing.rejection import Limit, Reason, Rejection, Remedy
from rackwright.wording import formatting
from rackwright.wording.rejections import CHANGES, EXPLANATIONS, REMEDIES, explanation, rejection_text, remedy

HOUR = 3600.0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, "not published"),
        (0.0421, "42 ms"),
        (1.0, "1 s"),
        (17.6, "17.6 s"),
        (90.0, "1.5 min"),
        (24 * HOUR, "24 h"),
        (13.83 * HOUR, "13.8 h"),
        (168 * HOUR, "168 h"),
        (466.6 * HOUR, "467 h"),
    ],
)
def test_span(seconds, expected):
    assert formatting.span(seconds) == expected


@pytest.mark.parametrize(("value", "expected"), [(999.886e6, "1B"), (8.03e9, "8.03B"), (999.4e6, "999M"), (250e3, "250k"), (17, "17")])
def test_counts_have_three_digits_and_no_exponent(value, expected):
    assert formatting.count(value) == expected


def test_range_has_one_unit():
    assert formatting.span_range(Interval(0.66 * HOUR, 1.1 * HOUR, 55.2 * HOUR)) == "1.1 h (0.7 to 55.2)"


def test_hours_add_days_from_three_days_on():
    assert formatting.hours(71 * HOUR) == "71 h"
    assert formatting.hours(168 * HOUR) == "168 h (7 days)"


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval(2655.7, 3045.8, 3494.4), "3,046 USD (2,656 to 3,494)"),
        (Interval(3.94, 7.41, 14.35), "7.41 USD (3.94 to 14.35)"),
        (Interval(3285, 3285, 3285), "3,285 USD"),
        (None, "not published"),
    ],
)
def test_range_of_money_has_one_precision(interval, expected):
    assert formatting.usd_range(interval) == expected


def test_unknown_money_is_never_zero():
    assert formatting.usd(None) == "not published"
    assert formatting.money(None, 2) == "not published"
    assert formatting.gib(None) == "not published"


@pytest.mark.parametrize(
    ("rejection", "expected"),
    [
        (
            Rejection(Limit.DEADLINE, 30.04, 24.0, "h", Reason.DEADLINE),
            "deadline: needs 30.0 h, allowed 24.0 h (p80 of the estimate)",
        ),
        (
            Rejection(Limit.BUDGET, 13139.8, 12000.0, "USD", Reason.BUDGET_OF_MONTH),
            "budget: needs 13,140 USD, allowed 12,000 USD (a month)",
        ),
        (Rejection(Limit.ORGANISATION, 128, 64, "accelerators"), "organisation limit: needs 128 accelerators, allowed 64 accelerators"),
        (Rejection(Limit.DEVICE_MEMORY, 80.5, 73.6, "GiB"), "accelerator memory: needs 80.5 GiB, has 73.6 GiB"),
        (Rejection(Limit.REGION, reason=Reason.REGION_NOT_OFFERED, subject="eu-west-2"), "region: not offered in eu-west-2"),
    ],
)
def test_rejection_text(rejection, expected):
    assert rejection_text(rejection) == expected


@pytest.mark.parametrize("reason", [r for r in Reason if r not in (Reason.LIMIT, Reason.DEADLINE)])
def test_every_reason_has_an_explanation_and_a_remedy(reason):
    rejection = Rejection(Limit.DATA, reason=reason, subject="SUBJECT", detail="DETAIL", amount=8, remedies=("VALUE",))
    assert explanation(rejection)
    assert "{" not in explanation(rejection)
    assert len(explanation(rejection).split()) <= 25
    assert remedy(rejection)
    assert set(EXPLANATIONS) <= set(Reason)


def test_every_remedy_has_a_text():
    assert set(CHANGES) == set(Remedy)
    assert remedy(Rejection(Limit.DEADLINE, 44.2, 24.0, "h", Reason.DEADLINE)) == "max_duration: 45h"
    assert remedy(Rejection(Limit.DEVICE_MEMORY, 2, 1, remedies=("quantization: fp8", Remedy.LARGER_ACCELERATOR))) == (
        "quantization: fp8, or an accelerator with more memory"
    )
    assert all(template.count("{") == template.count("}") for template in REMEDIES.values())


def test_near_miss_differs_from_its_limit():
    """`needs 48.0 h, allowed 48.0 h` would look like a bug."""
    assert rejection_text(Rejection(Limit.DEADLINE, 48.02, 48.0, "h")) == "deadline: needs 48.02 h, allowed 48.00 h"


@pytest.mark.parametrize(
    ("name", "short"),
    [("NVIDIA H100 80GB SXM5", "H100 80GB SXM5"), ("TPU v6e (Trillium)", "TPU v6e"), ("NVIDIA B300 SXM (Blackwell Ultra)", "B300 SXM")],
)
def test_short_names(name, short):
    assert formatting.short(name) == short


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("measured (n=70)", "fitted to 70 measured runs"),
        ("vendor claim (n=20)", "fitted to 20 runs published by vendors"),
        ("prior only", "prior only: predicted from hardware peaks, without a comparable published run; allow a factor 2 either way"),
        ("something new", "something new"),
    ],
)
def test_evidence(evidence, expected):
    assert formatting.evidence(evidence) == expected


@pytest.mark.parametrize(
    ("name", "value", "unit", "expected"),
    [
        ("restart_s", "600", "s", "restart 600 s"),
        ("host_base_bytes", "6.44245e+09", "bytes per node", "host base bytes 6.44 GB per node"),
        ("decode_bytes_per_s", "1e+07", "bytes of JPEG per second", "decode bytes per s 10 MB of JPEG per second"),
        ("default_pretrain_batch_tokens", "4.1943e+06", "tokens", "default pretrain batch tokens 4,194,300 tokens"),
        ("max_fill", "0.92", "of accelerator memory", "max fill 0.92 of accelerator memory"),
        ("trainer", "megatron", "family", "trainer megatron family"),
    ],
)
def test_assumptions_have_readable_units(name, value, unit, expected):
    item = formatting.readable(Assumption(name, value, unit, ""))
    assert f"{item.name} {item.value} {item.unit}" == expected
