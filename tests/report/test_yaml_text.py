"""YAML of jobs, read back by rules other than PyYAML's: the parser of Go that kubectl uses, and YAML 1.2."""

import re

import pytest
import yaml
from rackwright.report.yaml_text import yaml_text
from rackwright.spec.reading.tree import resolve

GO_FLOAT = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|[-+]?[0-9]+\.([eE][-+]?[0-9]+)?")
"""yamlStyleFloat of sigs.k8s.io/yaml/goyaml.v2, resolve.go."""
GO_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", ".inf", ".nan", "-.inf", "+.inf", "<<"}
TEXTS = [
    "1e-5", "1E5", "12e4567", "0123456", "1_000", "1_0.5", "0o17", "0x1f", "0b101", "017", "+1", "-1", ".5", "5.", "1.5e+3", "2026-11-21",
    "2026-1-2", "yes", "no", "on", "off", "y", "N", "true", "null", "~", "", ".inf", ".nan", "1:30", "--learning-rate", "1.35.2", "0xabg",
    "10.0.0.0/8", "8080", "1e", "e5", "12e4567f",
]  # fmt: skip


def go_reads_text(plain: str) -> bool:
    """Whether Go's parser reads a plain scalar as text. Its integers have any base of strconv.ParseInt, without underscores."""
    number = plain.replace("_", "")
    if plain.lower() in GO_WORDS or GO_FLOAT.fullmatch(number) or re.fullmatch(r"\d{4}-\d{1,2}-\d{1,2}", plain):
        return False
    try:
        int(number, 0)
    except ValueError:
        return not re.fullmatch(r"[-+]?0[0-7]+", number)
    return False


@pytest.mark.parametrize("text", TEXTS)
def test_text_stays_text(text):
    written = yaml_text([{"args": [text]}])
    (event,) = [event for event in yaml.parse(written) if isinstance(event, yaml.ScalarEvent) and event.value != "args"]
    assert event.value == text
    if event.implicit[0]:
        assert go_reads_text(text)
        assert resolve(text) == text
    assert yaml.safe_load(written) == {"args": [text]}


def test_ordinary_text_and_numbers_have_no_quotes():
    written = yaml_text([{"image": "registry.example/trainer:1.35.2", "cidr": "10.0.0.0/8", "count": 8, "share": 0.5, "on": True}])
    assert written == "image: registry.example/trainer:1.35.2\ncidr: 10.0.0.0/8\ncount: 8\nshare: 0.5\n'on': true\n"
