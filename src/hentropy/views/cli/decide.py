"""`hentropy decide`: what would be decided now."""

from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName
from hentropy.views.cli.opening import as_typed, located, opened, words_of
from hentropy.views.cli.printing import print_json
from hentropy.views.cli.running import say_first
from hentropy.views.cli.verdicts import print_verdict
from hentropy.views.cli.wording import in_commands
from hentropy.views.text.trials import verdict_json


def decide(study: StudyName, store: StoreUrl = None, json: AsJson = False) -> None:
    """Decide by all that was told so far; experiments may go on afterwards.

    The expected loss, the entropy, says how good the decision is expected to be.

    Example: hentropy decide lab.toml --json
    """
    place = located(study, store)
    with in_commands(), opened(place) as it:
        verdict = it.decide()
        if json:
            print_json(verdict_json(verdict))
        else:
            print_verdict(verdict, as_typed(study, store), words_of(place).description)
            say_first(it)
