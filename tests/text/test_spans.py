"""Names are found where they stand, whatever a model did to their letters; what does not stand there is not found."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay.text.spans import _fold, locate

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs", "Mn"]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("text", "quote", "words"),
    [
        ("Het Rijksmuseum", "Rijksmuseum", "Rijksmuseum"),
        ("Het Rijksmuseum", "RIJKSMUSEUM", "Rijksmuseum"),
        ("le Musée d’Orsay", "musée d'orsay", "Musée d’Orsay"),
        ("het „Oude Raadhuis”", '"Oude Raadhuis"', "„Oude Raadhuis”"),
        ("het Oude Raadhuis", '"Oude Raadhuis".', "Oude Raadhuis"),
        ("the Old\n  Town  Hall", "the old town hall", "the Old\n  Town  Hall"),
        ("NL-HaNA 1.04.02", "NL – HaNA 1.04.02", "NL-HaNA 1.04.02"),
        ("Die Staats­bibliothek", "Staatsbibliothek", "Staats­bibliothek"),  # a soft hyphen inside
        ("Die Straße", "STRASSE", "Straße"),
        (unicodedata.normalize("NFD", "in Orléans."), "Orléans", unicodedata.normalize("NFD", "Orléans")),
        ("서울역사박물관은", unicodedata.normalize("NFD", "서울역사박물관"), "서울역사박물관"),
        ("在北京故宫博物院", "故宫博物院", "故宫博物院"),  # no spaces between words
        ("ﬁne arts", "fine", "ﬁne"),
        ("Frankfurt (Oder)", "Frankfurt (Oder)", "Frankfurt (Oder)"),
        ("opened in 1800", "180", "180"),  # part of a word, when it stands nowhere else
    ],
)
def test_what_a_model_changes(text: str, quote: str, words: str) -> None:
    (place,) = locate(text, [quote])
    assert place is not None
    assert text[slice(*place)] == words


@pytest.mark.parametrize("quote", ["Louvre", "", " ", "...", "Cafe", "Musee"])
def test_what_does_not_stand_there_is_not_found(quote: str) -> None:
    for text in (
        unicodedata.normalize("NFC", "Café Musée in Parijs"),
        unicodedata.normalize("NFD", "Café Musée in Parijs"),
    ):
        assert locate(text, [quote]) == [None]


def test_a_whole_word_comes_before_a_part_of_one_and_exact_words_before_others() -> None:
    text = "Archivare im Archiv, archiv"
    assert locate(text, ["Archiv"]) == [(13, 19)]
    assert locate(text, ["archiv"]) == [(21, 27)]


def test_places_are_given_in_the_order_of_mention() -> None:
    #       0123456789012345678901234567
    text = "Gent, Brugge, Gent en Brugge"
    assert locate(text, ["Gent", "Gent", "Brugge"]) == [(0, 4), (14, 18), (22, 28)]
    assert locate(text, ["Brugge", "Gent"]) == [(6, 12), (14, 18)]
    assert locate(text, ["Brugge", "Brugge", "Gent", "Gent"]) == [(6, 12), (22, 28), (0, 4), (14, 18)]


def test_a_name_inside_a_longer_name_of_the_list_waits() -> None:
    text = "Kunsthal Rotterdam staat in Rotterdam"
    for quotes in (["Kunsthal Rotterdam", "Rotterdam"], ["Rotterdam", "Kunsthal Rotterdam"]):
        assert dict(zip(quotes, locate(text, quotes), strict=True)) == {
            "Kunsthal Rotterdam": (0, 18),
            "Rotterdam": (28, 37),
        }
    assert locate("Kunsthal Rotterdam", ["Rotterdam", "Kunsthal Rotterdam"]) == [(9, 18), (0, 18)]


def test_a_name_said_too_often_gets_the_same_place_again() -> None:
    assert locate("In Delft", ["Delft", "delft", "Delft"]) == [(3, 8)] * 3


@drawn(120)
@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_words_of_the_text_are_always_found(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    word = data.draw(st.sampled_from(words))
    forms = [unicodedata.normalize(form, word) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    quote = data.draw(st.sampled_from(forms)).replace(" ", "  ")
    assume(_fold(quote) and not unicodedata.combining(word[0]))  # a mark alone belongs to the word before it
    (place,) = locate(text, [data.draw(st.sampled_from([quote, quote.casefold(), f" {quote}\n"]))])
    assert place is not None
    assert _fold(text[slice(*place)]).replace(" ", "") in (
        _fold(quote).replace(" ", ""),
        _fold(quote.strip("\"'“”„«».,;:()[] ")),
    )


@drawn(100)
@given(st.text(max_size=60), st.lists(st.text(max_size=6), max_size=5))
def test_offsets_are_of_the_text_and_each_quote_has_an_answer(text: str, quotes: list[str]) -> None:
    places = locate(text, quotes)
    assert len(places) == len(quotes)
    for quote, place in zip(quotes, places, strict=True):
        assert (place is not None) or quote not in text or not quote.strip()
        if place is not None:
            assert 0 <= place[0] < place[1] <= len(text)


@drawn(100)
@given(st.lists(st.sampled_from(["Gent", "Brugge", "Leuven", "Kortrijk"]), min_size=1, max_size=8))
def test_names_said_in_their_order_get_their_own_places(names: list[str]) -> None:
    text = " en ".join(names)
    places = [place for place in locate(text, names) if place]
    assert places == sorted(set(places))
    assert [text[slice(*place)] for place in places] == names
