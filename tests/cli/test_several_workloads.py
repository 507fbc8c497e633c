"""Commands on the example with several workloads."""

TODAY = ("--today", "2026-11-21")
SEVERAL = "assistant-eks"


def test_compare_is_for_one_workload(rackwright, stacks):
    result = rackwright("compare", f"{SEVERAL}.yaml", "1", "2", *TODAY)
    assert result.status == 2
    assert "S-156" in result.err
    assert "the spec has 2" in result.err


def test_economics_and_report_show_every_workload(rackwright, stacks):
    shown = rackwright("economics", f"{SEVERAL}.yaml", *TODAY).out
    assert "llama-3.1-8b on " in shown
    assert "bert-large on " in shown
    assert rackwright("economics", f"{SEVERAL}.yaml", "--json", *TODAY).json["further"][0]["model"] == "bert-large"
    page = rackwright("report", f"{SEVERAL}.yaml", "-o", "-", "--format", "md", *TODAY).out
    assert "**chat: " in page
    assert "**embed: " in page


def test_plan_and_explain_show_the_same_limits(rackwright, stacks):
    def lines(command: str, label: str) -> list[str]:
        shown = rackwright(command, f"{SEVERAL}.yaml", *TODAY).out.replace("\n          ", " ").splitlines()
        return [line.removeprefix(label).strip() for line in shown if line.startswith(label)]

    (budget,) = lines("plan", "budget")
    assert "of 12,000 USD a month, the whole bill" in budget
    assert lines("explain", "budget") == [budget]
    (together,) = lines("plan", "tightest")
    assert all(own in together for own in lines("explain", "tightest"))
