"""`hentropy decide`: what would be decided now."""

from typing import Any

from hentropy.cli.arguments import AsJson, StoreUrl, StudyName
from hentropy.cli.opening import located, opened
from hentropy.cli.printing import console, print_json
from hentropy.cli.wording import in_commands
from hentropy.records import Verdict


def decide(study: StudyName, store: StoreUrl = None, json: AsJson = False) -> None:
    """Decide by all that was told so far; experiments may go on afterwards.

    The expected loss, the entropy, says how good the decision is expected to be.

    Example: hentropy decide lab.toml --json
    """
    with in_commands(), opened(located(study, store)) as it:
        verdict = it.decide()
    if json:
        print_json(verdict_json(verdict))
    else:
        console().print(verdict)


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values."""
    return {
        "decision": verdict.decision,
        "observations": verdict.observations,
        "expected_loss": verdict.expected_loss,
        "std_error": verdict.std_error,
        "action": verdict.action,
    }
