"""`rackwright choose`: the file it writes, and upgrades of recorded versions."""

import json
import os
import stat
from dataclasses import replace
from datetime import date

from rackwright.workflow.pipeline import Pipeline

TODAY = ("--today", "2026-11-21")


def test_choose_does_not_write_through_a_link(rackwright, stacks):
    target = stacks / "elsewhere.json"
    target.write_text("kept")
    link = stacks / "mistral-7b-qlora.decision.json"
    for to in (target, stacks / "missing.json"):
        link.unlink(missing_ok=True)
        link.symlink_to(to)
        result = rackwright("choose", "mistral-7b-qlora.yaml", "1", *TODAY)
        assert result.status == 2
        assert f"it is a symbolic link to {to}" in " ".join(result.err.split()).replace("/ ", "/")
    assert target.read_text() == "kept"
    assert not (stacks / "missing.json").exists()


def test_choose_syncs_the_file_and_its_folder(rackwright, stacks, monkeypatch):
    synced = []
    monkeypatch.setattr("rackwright.files.os.fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    rackwright("choose", "mistral-7b-qlora.yaml", "1", *TODAY)
    assert synced == [False, True]


def test_choose_upgrade_shows_changes_and_records_them_only_when_told(rackwright, stacks):
    spec, path = "mistral-7b-qlora.yaml", stacks / "mistral-7b-qlora.decision.json"
    old = Pipeline(stacks / spec, date(2026, 11, 21)).choose(1).decision
    path.write_text(replace(old, pins=replace(old.pins, images=(("box", "an image of 2025"),))).to_json())
    before = path.read_text()
    shown = rackwright("choose", spec, "--upgrade", *TODAY)
    assert "images box: an image of 2025 -> Deep Learning Base OSS Nvidia Driver GPU AMI" in shown.out
    assert f"rackwright choose {spec} --upgrade --record" in shown.out
    assert path.read_text() == before
    assert rackwright("choose", spec, "--record", *TODAY).status == 2
    found = rackwright("choose", spec, "--upgrade", "--record", "--json", *TODAY).json
    assert (found["recorded"], [change["name"] for change in found["changes"]]) == (True, ["box"])
    assert json.loads(path.read_text())["pins"] == json.loads(old.to_json())["pins"]
    assert rackwright("choose", spec, "--upgrade", *TODAY).out.startswith("no change")
