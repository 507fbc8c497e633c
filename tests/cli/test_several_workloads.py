"""Commands on the example with several workloads."""

TODAY = ("--today", "2026-11-21")
SEVERAL = "assistant-eks"


def test_machines_are_compared_for_one_workload(rackwright, stacks):
    result = rackwright("compare", f"{SEVERAL}.yaml", "L4", "2", *TODAY)
    assert result.status == 2
    assert "S-156" in result.err
    assert "the spec has 2" in result.err
    assert "--workload chat" in result.err


def test_combinations_are_compared_term_by_term(rackwright, stacks):
    found = rackwright("compare", f"{SEVERAL}.yaml", "1", "2", "--json", *TODAY).json
    assert [side["rank"] for side in found["candidates"]] == [1, 2]
    assert found["decided"].startswith("#1 ranks before #2: ")
    groups = {term["group"] for term in found["terms"]}
    assert {"chat: memory per accelerator", "embed: rate", "bill, USD", "quota"} <= groups
    (totals,) = (term["values"] for term in found["terms"] if term["group"] == "bill, USD" and term["term"].startswith("total"))
    assert all(total > 0 for total in totals)
    shown = rackwright("compare", f"{SEVERAL}.yaml", "1", "2", *TODAY).out
    assert "chat: " in shown
    assert "#1 ranks before #2" in shown


def test_candidates_of_one_workload_are_compared(rackwright, stacks):
    found = rackwright("compare", f"{SEVERAL}.yaml", "1", "2", "--workload", "embed", "--json", *TODAY).json
    assert {term["group"] for term in found["terms"]} >= {"memory per accelerator", "rate"}
    refused = rackwright("compare", f"{SEVERAL}.yaml", "1", "2", "--workload", "other", *TODAY)
    assert refused.status == 2
    assert "no workload 'other'" in refused.err


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
