import pytest
from rackwright.catalog.read import Catalog


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return Catalog.default()
