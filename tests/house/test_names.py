"""A class name means one thing in the package."""

import re
from collections import Counter

from tests.house.source_files import python_files


def test_no_two_public_classes_have_the_same_name():
    texts = (path.read_text(encoding="utf-8") for path in python_files("blueprints"))
    every = Counter(name for text in texts for name in re.findall(r"^class ([A-Z]\w*)", text, re.MULTILINE))
    assert {name for name, count in every.items() if count > 1} == set()
