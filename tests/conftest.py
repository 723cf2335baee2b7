"""What holds for every test: a failed assertion of the tests' own library shows its values as well."""

import pytest

pytest.register_assert_rewrite("support")
