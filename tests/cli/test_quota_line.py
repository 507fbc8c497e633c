"""The quota line of a plan has what the spec lists, not the cloud's default."""

from tests.sizing.helpers import AWS, finetune

P = "L-417A185B"
PLACE = AWS.replace("regions", f"quotas: {{us-east-1: {{{P}: 192, L-DB2E81BA: 768}}}}, regions")


def test_the_quota_line_has_the_amount_of_the_spec(rackwright, tmp_path):
    path = tmp_path / "job.yaml"
    work = finetune("llama-3.1-70b", "none")
    path.write_text(f"api_version: rackwright/v1\nname: job\nworkloads:\n  - {work}\ninfra: {{any_of: [{PLACE}]}}\n")
    found = rackwright("plan", str(path), "--today", "2026-11-21")
    shown = " ".join(found.out.split())
    assert f"listed in quotas: 192 of 192 vCPU for p6-b300.48xlarge ({P})" in shown
    assert f"{P}, default 0" not in shown
    quotas = rackwright("plan", str(path), "--today", "2026-11-21", "--json").json["quota"]
    assert {row["code"]: row.get("available") for row in quotas}[P] == 192
