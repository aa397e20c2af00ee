from __future__ import annotations

from collections import Counter

from barrow.recipes import pocket


def test_several_domains_with_provenance() -> None:
    documents = list(pocket.documents())
    domains = Counter(d.domain for d in documents)
    assert set(domains) == {"Python Sources", "Python Topics", "Package Papers", "Arithmetic"}
    assert min(domains.values()) >= 10
    for document in documents:
        assert set(document.meta) == {"pile_set_name", "source", "licence"}
        assert document.text.strip()
        assert not document.meta["source"].startswith("/"), "no path of this machine"


def test_the_same_seed_gives_the_same_documents() -> None:
    assert list(pocket.arithmetic(1)) == list(pocket.arithmetic(1))
    assert list(pocket.arithmetic(1)) != list(pocket.arithmetic(2))
    assert list(pocket.python_topics()) == list(pocket.python_topics())


def test_the_answers_are_right() -> None:
    for document in pocket.arithmetic(5, 20):
        lines = document.text.splitlines()
        for question, answer in zip(lines[::2], lines[1::2], strict=True):
            words = question.rstrip("?.").replace(" and ", " * ").split()
            if words[0] == "What" and "remainder" in words:
                expected = int(words[5]) % int(words[9])
            else:
                left, sign, right = words[-3:]
                expected = {
                    "+": int(left) + int(right),
                    "-": int(left) - int(right),
                    "*": int(left) * int(right),
                }[sign]
            assert int(answer) == expected, question
