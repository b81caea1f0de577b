"""The statements of an instruction: they join to the text, and headings go with what they head."""

from __future__ import annotations

import pytest

from goldassay.text.statements import statements, without

TEXT = """You label texts, e.g. letters. Be brief.

## Labels
- museum: a place that
  shows things
- archive

    keeps papers

### Notes
A long line that is wrapped here, since the editor of the prompt has only so many
Columns.
Answer in one word
Use the label only
Examples:

```json
{"a": 1}

{"b": 2}
```
End here.
"""


def test_code_ends_at_its_fence_if_more_code_follows() -> None:
    first, second = "```\na\n```\n", "```\nb\n```\n"
    assert [statement.text for statement in statements(f"{first}{second}Be brief.")] == [first, second, "Be brief."]


def test_statements_join_to_the_text_and_headings_go_with_what_they_head() -> None:
    cut = statements(TEXT)
    assert "".join(statement.text for statement in cut) == TEXT
    assert [statement.kind for statement in cut] == [
        *["sentence", "sentence", "heading", "item", "item", "heading"],
        *["sentence", "sentence", "sentence", "heading", "block", "sentence"],
    ]
    assert cut[3].text == "- museum: a place that\n  shows things\n"
    assert without(cut, set()) == TEXT
    assert without(cut, {3, 4, 10}).startswith(
        "You label texts, e.g. letters. Be brief.\n\n## Labels\n\n### Notes\nA long"
    )
    assert "Examples" not in without(cut, {10})
    assert without(cut, set(range(2, 12))) == "You label texts, e.g. letters. Be brief."


@pytest.mark.parametrize(
    "text", ["Siehe Nr. 12 und vgl. Anhang B.", "Un lieu, p. ex. Paris, est un nom.", "Städte, Dörfer usw. sind Orte."]
)
def test_abbreviations_of_german_and_french_end_no_sentence(text: str) -> None:
    assert [statement.text for statement in statements(text)] == [text]


def test_brackets_are_not_cut_and_capital_letters_list_items() -> None:
    text = "The house (est. 1800) is old. Choose one:\nA) yes\nB) no"
    assert [(part.text, part.kind) for part in statements(text)] == [
        ("The house (est. 1800) is old. ", "sentence"),
        ("Choose one:\n", "heading"),
        ("A) yes\n", "item"),
        ("B) no", "item"),
    ]
