# ruff: noqa: E501  (samples are kept on one line each)
"""Token counts, compared with counts by tiktoken 0.14 (o200k, cl100k) and Claude's vocabulary."""

from __future__ import annotations

import base64
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hunchd.assembly.token_counter import count_tokens

TEXTS = {
    "python": (
        'def faded(memory: Memory, *, now: datetime, half_life: timedelta = HALF_LIFE) -> Memory:\n    """The same memory as it weighs `now`."""\n    half_lives = max((now - memory.last_used) / half_life, 0.0)\n    return replace(memory, weight=memory.weight * 0.5**half_lives)\n',
        84,
    ),
    "typescript": (
        "export function createApp<T extends object>(root: Component<T>, props?: Partial<T>): App {\n  const { mount } = ensureRenderer().createApp(root, props)\n  return { mount: (el: string | Element) => mount(normalize(el)) }\n}\n",
        63,
    ),
    "prose": (
        "A reader who knows the project should nod at nearly every line; one that does not help costs trust. Short beats full: the budget is a ceiling, not a target.",
        35,
    ),
    "chinese": (
        "该函数读取用户的设置，将其与默认值合并后返回。如果发生错误，则抛出异常。运行测试之前，请先应用数据库迁移。",
        48,
    ),
    "japanese": (
        "この関数はユーザーの設定を読み込み、デフォルト値とマージして返します。エラーが発生した場合は例外を投げます。",
        54,
    ),
    "korean": ("이 함수는 사용자의 설정을 읽고 기본값과 병합하여 반환합니다.", 27),
    "russian": ("Эта функция читает настройки пользователя и объединяет их со значениями по умолчанию.", 38),
    "arabic": ("تقرأ هذه الدالة إعدادات المستخدم وتدمجها مع القيم الافتراضية ثم تعيدها.", 63),
    "base64": (base64.b64encode(random.Random(3).randbytes(240)).decode(), 233),
    "hex": (random.Random(4).randbytes(160).hex(), 173),
    "emoji": (
        "\U0001f600\U0001f44d\U0001f3fd\U0001f525\u2728\U0001f389\U0001f680\U0001f41b\U0001f4dd\u2705\U0001f9ea\U0001f512\U0001fa79\U0001f4a5\U0001f30d",
        41,
    ),
    "spaces": (" " * 900, 8),
    "newlines": ("\n" * 300, 20),
    "minified": (
        '!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?t(exports):"function"==typeof define&&define.amd?define(["exports"],t):t((e=e||self).Vue={})}(this,function(e){"use strict";var n=Object.freeze({});function r(e){return null==e}});',
        83,
    ),
    "tree": ("src\n├── app\n│   ├── main.py\n│   └── cli.py\n└── tests\n", 32),
}


@pytest.mark.parametrize(("text", "true"), TEXTS.values(), ids=TEXTS.keys())
def test_count_is_within_two_percent_of_tokenizers(text: str, true: int) -> None:
    assert count_tokens(text) >= 0.98 * true
    assert count_tokens(text) <= 1.15 * true + 2


def test_empty_text_has_no_tokens() -> None:
    assert count_tokens("") == 0


visible_end = st.text().map(lambda text: f"{text}x")


@given(st.lists(visible_end, min_size=1, max_size=4))
def test_block_counts_add_up(texts: list[str]) -> None:
    blocks = [f"\n{text}" for text in texts]

    assert count_tokens("".join(blocks)) == sum(map(count_tokens, blocks))


@given(st.text(alphabet=st.characters()))
def test_count_is_bounded_by_bytes(text: str) -> None:
    size = len(text.encode("utf-8", "replace"))

    assert (size > 0) <= count_tokens(text) <= 1.25 * size + 1


def test_megabyte_without_space_is_counted_linearly() -> None:
    assert count_tokens("aQ" * 50_000) > 1000  # a quadratic split would not end


def test_counter_uses_little_memory() -> None:
    probe = (
        "import resource\n"
        "import re, zlib, collections, functools, itertools, importlib.resources\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "from hunchd.assembly.token_counter import count_tokens\n"
        "count_tokens('def f(x): return x')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    grown = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)

    assert int(grown.stdout) < 16_000  # kB
