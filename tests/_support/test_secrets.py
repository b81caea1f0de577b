"""What looks like a key is hidden, and what only reads a little like one is not."""

from __future__ import annotations

import json

import dspy
import pytest

from goldassay._support.secrets import mask, redact, remember

KEYS = [
    "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "AKIAIOSFODNN7EXAMPLE",
    "github_pat_11ABCDEFG0abcdefgh",
    "gsk_abcdefghij1234",
    "glpat-abcdefgh1234",
    "nvapi-abcdefgh1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_123",
    "Basic dXNlcjpwYXNzd29yZA==",
    "Bearer abcdefghijkl",
    "pplx-abcdefghijkl",
    "tgp_v1_abcdefghijkl",
    "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789",
    "tvly-dev-abcdefghij1234",
    "sk-lf-0f5a1c2d-12ab-4cd3-8ef4-0123456789ab",
    "ya29.a0AfH6SMBx1234567890",
    "AccountKey=abcdefghijkl==",
    "password=hunter2hunter2",
    "SG.aBcD3fGhIjKlMnOpQrStUv.aBcD3fGhIjKlMnOpQrStUvWxYz0123456789abcdefg",
    "npm_a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6",
    "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3ODlhYmNkZWY",
    "dop_v1_0123456789abcdef0123456789abcdef",
    "shpat_0123456789abcdef0123456789abcdef",
    "dapi0123456789abcdef0123456789abcdef",
    "lin_api_a1b2c3d4e5f6a1b2c3d4e5f6",
    "ntn_1234567890abcdefghijklmnop",
    "dckr_pat_a1B2c3D4e5F6g7H8i9J0k1L2",
    "fw_3ZabcdefGHIJKL0123456789",
    "1234567890:AAabcdefghijklmnopqrstuvwxyz0123456",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
def test_the_shapes_of_keys_are_known(key: str) -> None:
    assert redact(f'said "{key}" to me') == 'said "[hidden]" to me'


@pytest.mark.parametrize("key", [key for key in KEYS if any(map(str.isdigit, key))])
@pytest.mark.parametrize("glued", ["key", "7", "DB_", "é"])
def test_a_key_glued_to_a_letter_is_hidden(key: str, glued: str) -> None:
    assert redact(f'said "{glued}{key}" to me') == f'said "{glued}[hidden]" to me'


def test_a_mask_is_as_long_as_its_secret() -> None:
    for key in KEYS:
        assert mask([f"said {key} to me"]) == [f"said {'*' * len(key)} to me"]
        assert mask(mask(key)) == mask(key)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://h/v1?api_key=abc123&x=1", "https://h/v1?[hidden]&x=1"),
        ("Incorrect API key provided: abcd1234efgh", "Incorrect [hidden]"),  # the server's echo of a key unknown here
        ('{"user": "me", "password": "hunter2hunter2"}', '{"user": "me", "[hidden]"}'),
        ("https://hooks.slack.com/services/T01/B02/abcDEF", "https://hooks.slack.com/services/[hidden]"),
        (
            "npm_config_registry_of_mine, dapiary, fw_something_else",
            "npm_config_registry_of_mine, dapiary, fw_something_else",
        ),
        (r'{"body": "{\"api_key\": \"zzzzzzzz\"}"}', r'{"body": "{\"[hidden]\"}"}'),
    ],
)
def test_keys_that_only_a_server_or_an_address_says(text: str, left: str) -> None:
    assert redact(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "a basic understanding of",
        "Basic education in Delft",
        "the key: a museum",
        "a token of love",
        "the password is in the drawer",
        "password=",
        "?year=1885",
        "asia",
        "risk-management of desk-research-methods, task-2024-evaluation-campaign, highs_and_lows_2024",
        "EURASIAMUSEUMCOLLECTION and torchbearer extraordinary, VisualBasic programming",
    ],
)
def test_words_are_left_alone(text: str) -> None:
    assert redact(text) == text


def test_what_is_known_does_not_grow() -> None:
    lm = dspy.LM("openai/x", api_key='quo"ted"secret', api_base="http://h/[hidden]/v1")
    first = remember(lm)
    assert remember(lm) == first
    assert redact('a quo"ted"secret, "quo\\"ted\\"secret"') == 'a [hidden], "[hidden]"'


def test_what_is_plain_in_an_address_stays() -> None:
    lm = dspy.LM("azure/gpt-4o", api_base="https://host.example/openai/deployments/gpt-4o/v1")
    remember(lm)
    text = "asks /v1 of gpt-4o at https://host.example/openai/deployments/gpt-4o/v1"
    assert redact(text) == text


@pytest.mark.parametrize("key", ["none", "EMPTY", "test", "not-needed", "ollama"])
def test_a_placeholder_for_a_key_hides_no_words(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_URL", "http://user:word@host/simple/list?online=true")
    remember(dspy.LM("openai/x", api_key=key, api_base="http://h/v1?api-version=2024-05-01-preview"))
    text = f"{key} of these is true since 2024-05-01-preview, word for word, in /simple/list"
    assert redact(text) == text


def test_a_key_with_quotes_is_hidden_in_its_repr_too(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "my'very\"own'word"
    monkeypatch.setenv("OWN_API_KEY", key)
    remember()
    for text in (key, json.dumps(key), repr({"key": key})):
        assert "very" not in redact(text)
