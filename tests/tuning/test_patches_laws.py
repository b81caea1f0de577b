"""Laws of patches: apply and inverse, for any text, in sequences; files that read back as they were written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import dspy
from hypothesis import example, given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import GoldassayError
from goldassay.running.hashing import fingerprint
from goldassay.tuning.acceptance import Status
from goldassay.tuning.patches import Patch, read, write
from goldassay.tuning.service import PatchFolder

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
EXAMPLES = st.fixed_dictionaries({"text": TEXT, "names": TEXT | st.lists(TEXT, min_size=1)})
EDITS = st.one_of(
    st.fixed_dictionaries({"action": st.just("add_instruction"), "text": TEXT.filter(lambda text: bool(text.strip()))}),
    st.fixed_dictionaries({"action": st.just("remove_instruction"), "old": st.sampled_from(["Find", "the ", "\nBe"])}),
    st.fixed_dictionaries({"action": st.just("replace_instruction"), "old": st.just("names"), "text": st.just("all")}),
    st.fixed_dictionaries({"action": st.just("remove_example"), "example": st.just({"text": "a", "names": "b"})}),
    st.fixed_dictionaries({"action": st.just("describe_field"), "field": st.just("names"), "text": TEXT}),
    st.fixed_dictionaries({"action": st.just("add_example"), "example": EXAMPLES}),
)


def program() -> Any:
    result = dspy.Predict(dspy.Signature("text -> names", "Find the names.\nBe careful."))
    result.demos = [dspy.Example(text="a", names="b")]
    return result


@drawn(60)
@given(st.lists(EDITS, max_size=4))
def test_taking_patches_back_one_by_one_gives_every_earlier_program(edits: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, versions, ids = PatchFolder(Path(place), program()), [fingerprint(program())], list[str]()
        for edit in edits:
            patch = Patch(predictor="self", **edit)
            try:
                folder.apply([str(write(patch, folder.folder))])
            except GoldassayError:  # it does not fit this version, or is applied already
                continue
            versions.append(fingerprint(folder.current))
            ids.append(patch.id)
        while ids:
            assert fingerprint(folder.current) == versions.pop()
            folder.revert([ids.pop()])
        assert fingerprint(folder.current) == versions.pop()


@drawn(80)
@given(EDITS, st.dictionaries(TEXT, VALUES, max_size=3), TEXT)
@example({"action": "remove_example", "example": {"text": "a", "names": "b"}}, {"weight": float("inf")}, "why")
def test_a_file_reads_back_as_it_was_written(edit: dict[str, Any], more: dict[str, Any], why: str) -> None:
    patch = Patch(predictor="self", **edit, rationale=why, status=Status.REJECTED, reason=why)
    if patch.example is not None:
        patch.example |= more
    with tempfile.TemporaryDirectory() as folder:
        labels = read(write(patch, Path(folder)))
    assert labels == patch
    assert labels.id == patch.id
