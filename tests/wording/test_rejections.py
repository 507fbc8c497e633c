"""Remedies of rejections."""

import pytest
from rackwright.sizing.rejection import latency_rejections
from rackwright.wording.rejections import remedy


@pytest.mark.parametrize(("tpot_s", "text"), [(0.1, "tpot.target: 100 ms, or quantization: fp8"), (0.2, "tpot.target: 200 ms")])
def test_fp8_is_a_remedy_only_where_half_the_latency_is_enough(tpot_s, text):
    (found,) = latency_rejections(0.1, tpot_s, 1.0, 0.06, ("quantization: fp8",))
    assert remedy(found).startswith(text)
    assert ("fp8" in remedy(found)) == ("fp8" in text)
