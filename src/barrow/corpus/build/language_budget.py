"""The limit of rules by language: no language loses more of its documents than its budget."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from barrow.corpus.build.examine import Findings
from barrow.corpus.filters.by_language import ByLanguage, language_rules
from barrow.corpus.filters.language import UNDETERMINED
from barrow.corpus.recipe import Recipe
from barrow.errors import BudgetExceeded

_MIN_DOCUMENTS = 100  # of fewer, a share says little


def check_languages(recipe: Recipe, examined: Sequence[Findings]) -> None:
    """Raise `BudgetExceeded` if filters removed too many documents of a language with rules."""
    budgets = [
        step.budget
        for domain in recipe.domains.values()
        for steps in (domain.filters, *domain.filters_of.values())
        for step in steps
        if isinstance(step, ByLanguage) and step.budget is not None
    ]
    if not budgets:
        return
    total = Counter[str]()
    for found in examined:
        for counts in json.loads(found.counts.path.read_text()).values():
            total.update({k: n for k, n in counts.items() if k.startswith("languages")})
    for code in sorted(language_rules().keys() - {UNDETERMINED}):
        number, kept = total[f"languages.{code}"], total[f"languages_kept.{code}"]
        if number >= _MIN_DOCUMENTS and number - kept > min(budgets) * number:
            raise BudgetExceeded(
                f"filters would remove {number - kept:,} of {number:,} documents in the language "
                f"{code!r}, more than the budget of {min(budgets):.0%}; if they should go, raise "
                "ByLanguage's budget, if not, set its filters' limits"
            )
