"""Words, sentences and names of texts: ROUGE's two tokenizers, words with their offsets, the words of a statement.

``rouge-score`` is the tokenizer of the package of that name: lower case, runs of ASCII letters and digits, everything
else is space; so a text without ASCII letters has no words and scores 0 even against itself. ``unicode`` is ours: case
folded (NFKC, casefold), runs of letters, digits and marks of any script. Stemming is Porter's (NLTK's extensions), for
words of more than three letters, as in rouge-score.

`places` splits a text into words and signs, for formats and coefficients that need tokens where gold has none. A word
is a run of letters, digits and underscores; every other character that is not white space is a sign of its own.
Combining marks (Unicode category M: accents, vowel points, variation selectors) stay with their character, so that a
decomposed é stays whole.

`statement` gives the words by which two statements are compared; it knows the small words of English, Dutch, German and
French (and negations of Spanish and Italian). ``1,800``, ``1.800`` and ``1 800`` (with a narrow or a no-break space)
are ``1800``: a mark between a digit and exactly three digits separates thousands. "didn't" is "did not", and French
"n'ouvre pas" is "ne ouvre pas".

`found_entities` finds names: runs of capitalised words, codes and numbers. `sentences` ends a sentence at a mark that
ends one, followed by space and a capital or a digit, or at the end of a line.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from functools import cache
from itertools import dropwhile, pairwise

from goldassay._support.exceptions import GoldassayError
from goldassay._support.files import resource

TOKENIZERS = ("rouge-score", "unicode")
_LETTERS = bytes(code if code in b"abcdefghijklmnopqrstuvwxyz0123456789" else 32 for code in bytes(range(256)).lower())


def tokens(text: str, tokenizer: str = "rouge-score", stem: bool = False) -> list[str]:
    """The words of one text.

    Raises:
        GoldassayError: There is no such tokenizer.

    >>> tokens("Het Rijksmuseum, opened 1800"), tokens("Москва"), tokens("Москва", "unicode")
    (['het', 'rijksmuseum', 'opened', '1800'], [], ['москва'])
    >>> tokens("museums opened", stem=True)
    ['museum', 'open']
    """
    if tokenizer == "rouge-score":
        words = ascii_letters(text).decode().split()
    elif tokenizer == "unicode":
        words = _any_script().findall(unicodedata.normalize("NFKC", text).casefold())
    else:
        raise GoldassayError(f"no tokenizer {tokenizer!r}; there are {', '.join(TOKENIZERS)}")
    return [stemmed(word) for word in words] if stem else words


def ascii_letters(text: str) -> bytes:
    """The text in small letters and digits of ASCII, everything else a space; as bytes, which is faster."""
    folded = text if text.isascii() else text.lower()  # some capitals of other scripts have small letters of ASCII
    return folded.encode("ascii", "replace").translate(_LETTERS)


@cache
def characters(kind: str) -> str:
    """All characters of Unicode whose category begins with a letter (``M``: marks), or ``small`` letters."""
    every = map(chr, range(sys.maxunicode + 1))
    if kind == "small":
        return "".join(c for c in every if c.islower() and c.isalpha())
    return "".join(c for c in every if unicodedata.category(c)[0] == kind)


@cache
def _any_script() -> re.Pattern[str]:
    r"""Runs of letters, digits and marks: ``\w`` alone would break Devanagari at every vowel sign."""
    marks = characters("M")
    return re.compile(rf"[^\W_][^\W_{marks}]*(?:[{marks}]+[^\W_]*)*")


@cache
def stemmed(word: str) -> str:
    """Porter's stem of a word of more than three letters; others stay.

    >>> stemmed("archives"), stemmed("has")
    ('archiv', 'has')
    """
    if len(word) <= 3:
        return word
    from nltk.stem.porter import PorterStemmer  # loads much

    return str(PorterStemmer().stem(word))


def places(text: str) -> list[tuple[int, int]]:
    """The offsets of the words and signs of a text.

    >>> places("L'année 1800")
    [(0, 1), (1, 2), (2, 7), (8, 12)]
    >>> places("cafe\u0301!")
    [(0, 5), (5, 6)]
    """
    return [match.span() for match in _words_and_signs(text.isascii()).finditer(text)]


@cache
def _words_and_signs(plain: bool) -> re.Pattern[str]:
    """The pattern; that with all marks of Unicode takes a moment to compile, so only texts that need it pay."""
    if plain:
        return re.compile(r"\w+|[^\w\s]")
    # Persian writes U+200C inside of words; U+200D joins signs to one emoji
    marks = characters("M") + "\u200c\u200d"
    return re.compile(rf"\w[\w{marks}]*|[^\w\s](?:[{marks}]|(?<=\u200d)[^\w\s])*")


def around(text: str, start: int, end: int, most: int = 200) -> str:
    """The words around a place, up to ``most`` characters on either side, cut at spaces.

    >>> around("a" * 300 + " in Delft " + "b" * 300, 304, 309)
    'in Delft'
    """
    before = text[max(0, start - most) : start]
    if start > most:
        before = before.partition(" ")[2]
    after = text[end : end + most]
    if end + most < len(text):
        after = after.rpartition(" ")[0]
    return f"{before}{text[start:end]}{after}"


def quote(text: str, start: int, end: int) -> str:
    """A place with the whole words around it on one line, up to 30 characters on either side.

    >>> quote("Het Rijksmuseum in Amsterdam, gebouwd door Pierre Cuypers, opende in 1885.", 19, 28)
    'Het Rijksmuseum in Amsterdam, gebouwd door Pierre Cuypers,…'
    """
    most = 30
    words = " ".join(around(text, start, end, most + 1).split()) if start < len(text) else ""
    if not words:
        return ""
    before = "…" if start > most else ""
    after = "…" if end + most < len(text) else ""
    return f"{before}{words}{after}"


def json_text(value: object) -> str:
    """A value as JSON for a message, cut to 120 characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else f"{text[:119]}…"


WORD_LISTS = resource("words.json")
OPENERS = frozenset(" ".join(WORD_LISTS["openers"]).split())
"""Words that open a sentence with a capital and are not part of a name."""
NEGATIONS = frozenset(" ".join(WORD_LISTS["negations"]).split())
"""Words that turn a sentence into its opposite."""
CONTRACTED = WORD_LISTS["contracted"]
"""The word before "'t" in an English negation ("didn't"), and its verb; Dutch "van 't" and "aan 't" are none."""
NE_PAIRS = ("pas", "jamais", "aucun", "aucune", "rien")
"""Words that close a French negation that ``ne`` opened: the two are one."""


_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,\u00a0\u2009\u202f'’]\d{3})+(?![\d]|[.,]\d)")


def statement(text: str) -> list[str]:
    """The words.

    >>> statement("It didn't sell 1,800 tickets on 12.5.1920")
    ['it', 'did', 'not', 'sell', '1800', 'tickets', 'on', '12', '5', '1920']
    >>> statement("Il n'ouvre pas"), statement("It can't."), statement("It cannot")
    (['il', 'ne', 'ouvre', 'pas'], ['it', 'can', 'not'], ['it', 'can', 'not'])
    >>> statement("aan 't water")
    ['aan', 't', 'water']
    """
    words = tokens(_THOUSANDS.sub(lambda match: re.sub(r"\D", "", match.group()), text), "unicode")
    french = any(word in NE_PAIRS for word in words)
    merged: list[str] = []
    for before, word in pairwise(["", *words]):
        if word == "t" and before in CONTRACTED:
            merged[-1:] = [CONTRACTED[before], "not"]
        elif word == "cannot":
            merged += ["can", "not"]
        else:
            merged.append("ne" if word == "n" and french else word)
    return merged


_SHORT = re.compile(
    r"(?:\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Prof|ca|bzw|resp|vol|nr|no|ir|mr|drs|dhr|mw|etc|vs|p|pp|fig|Jr|Sr|e\.g|i\.e|z\.B|o\.a|v\.d|blz))\.$"
)


@cache
def _end() -> re.Pattern[str]:
    """Where a sentence ends."""
    opens = rf"[\"'“‘«(\[]?[^\W_{characters('small')}]"
    return re.compile(rf"(?<=[.!?…。！？])[\"'”“’»)\]]*(?:\s+(?={opens})|(?<=[。！？]))|\n+")


def sentences(text: str) -> list[str]:
    """The sentences; a full stop after an initial or a common abbreviation ends none.

    >>> sentences("Het opende in 1800. Dr. A. Bredius gaf veel! Mooi.")
    ['Het opende in 1800.', 'Dr. A. Bredius gaf veel!', 'Mooi.']
    >>> sentences("Он основан, т. е. открыт, в 1764 г. по указу. Это музей.")
    ['Он основан, т. е. открыт, в 1764 г. по указу.', 'Это музей.']
    """
    parts: list[str] = []
    pending = ""
    for sentence in _end().split(text):
        piece = sentence.strip()
        if not piece:
            continue
        pending = f"{pending} {piece}" if pending else piece
        if not _SHORT.search(pending):
            parts.append(pending)
            pending = ""
    return [*parts, pending] if pending else parts


_ACCENTS = "\u0300-\u036f"  # marks that follow their letter
_LINK = r"(?:of|the|de|het|van|voor|der|den|des|für|du|la|le|les|et|di|da|del|von|zu|und|d[’'])"


@cache
def _names() -> re.Pattern[str]:
    """Words with a capital, those that link them, and words with a digit; all scripts have their own small letters."""
    name = rf"[^\W\d_{characters('small')}][\w{_ACCENTS}’'&-]*"
    return re.compile(rf"{name}(?:(?:\s+{_LINK})*\s+{name})*|\b\w*\d[\w./:-]*\w\b|\b\d\b")


def found_entities(text: str) -> tuple[str, ...]:
    """Names, codes and numbers of a text, by patterns: each once, in order.

    A script without capitals gives whole runs of letters. For better ones give your own extractor.

    >>> found_entities("De Kunsthal in Rotterdam (NL-RtKh) is in 1992 ontworpen door Rem Koolhaas.")
    ('Kunsthal', 'Rotterdam', 'NL-RtKh', '1992', 'Rem Koolhaas')
    >>> found_entities("Эрмитаж основан в 1764 году в Петербурге.")
    ('Эрмитаж', '1764', 'Петербурге')
    """
    runs = (match.group().split() for match in _names().finditer(text))
    names = (" ".join(dropwhile(lambda word: word.lower() in OPENERS, words)) for words in runs)
    return tuple(dict.fromkeys(filter(None, names)))
