"""What every store must do."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hentropy.errors import HentropyError, Outdated, Overtaken, StorageError
from hentropy.studies.records import (
    Comparison,
    Entry,
    Measurement,
    Prediction,
    Rival,
    State,
    StudyRecord,
    Trial,
    Verdict,
)
from hentropy.studies.storage import Change, Store, Turn
from hentropy.studies.testing.relations import require

AWKWARD = "é 漢 'quoted' \"twice\"; DROP TABLE x; %s {braces} \\ \n and a new line"
"""Text that a careless store would break on, or be broken by."""


def check_store(open_again: Callable[[], Store]) -> None:
    """Raise an `AssertionError` if a store does not keep its records.

    `open_again` opens the same store each time: what one instance writes, the other must read. (A store in memory
    returns itself.) The store is left with the studies it had before.
    """
    store, other = open_again(), open_again()
    try:
        study = _studies(store, other)
        _trials(store, other, study)
        _changes(store, other, study)
        _side_by_side(store, other, study)
        _turns(store, other, study)
        _verdicts(store, other, study)
        _deletion(store, other, study)
    finally:
        store.close()
        other.close()


def _raises(kind: type[HentropyError], does: Callable[[], object], what: str) -> None:
    try:
        does()
    except kind as error:
        require(bool(str(error)), f"{what}: the error says nothing")
        return
    raise AssertionError(f"{what} was not refused")


def _studies(store: Store, other: Store) -> StudyRecord:
    before = store.studies()
    definition = {"space": {"x": {"low": 0.1, "high": 1e-300}}, "text": AWKWARD}
    study = store.create(AWKWARD, definition, {"hentropy": "1"})
    require(other.find(AWKWARD) == study, "a study that was made is not found by its name")
    require(study.definition == definition, f"the definition {definition} came back as {study.definition}")
    require(other.find("another name") is None, "a study is found under a name that nobody gave")
    require(other.studies() == (*before, study), "the list of studies is not complete, or not in order")
    _raises(StorageError, lambda: other.create(AWKWARD, {}, {}), "a second study of the same name")
    changed = other.redefine(study, lambda stands: {"text": stands["text"], "seed": 1})
    expected = replace(study, definition={"text": AWKWARD, "seed": 1})
    require(store.find(AWKWARD) == changed == expected, f"a definition was changed to {expected}, and is {changed}")
    return changed


def _entry(number: int, at: float, **changes: object) -> Entry:
    return Entry(replace(Trial(number, {"x": 0.1 * number, "n": number}), **changes), at)  # type: ignore[arg-type]


def _measured(value: float, error: float | None = None) -> dict[str, Measurement]:
    return {"value": Measurement(value, error), AWKWARD: Measurement(-value)}


def _trials(store: Store, other: Store, study: StudyRecord) -> None:
    start = store.news(study)
    require(start.entries == (), "a new study has trials")
    now = store.now()
    whole = Entry(
        Trial(
            number=0,
            params={"x": 1 / 3, "n": 7},
            state=State.COMPLETE,
            measurements=_measured(0.1 + 0.2, 1e-17),
            gain=2.5e-8,
            gain_error=1e-9,
            entropy=-1e300,
            origin="first",
            note=AWKWARD,
            measures=("yield", AWKWARD),
            predictions={AWKWARD: Prediction(1 / 3, 1e-300, (-0.1, 0.1 + 0.2, 1e300), widened=1.5, log=True)},
        ),
        asked_at=now,
        ended_at=now + 1e-3,
        tries=1,
        losses=2,
    )
    leased = replace(_entry(1, now), owner="somebody", lease_until=now + 60)
    added = store.add(study, lambda _: [whole, leased], "a", since=start.revision)
    news = other.news(study, start.revision)
    require(added == news, f"what is added came back as {added}, and is {news}")
    require(other.read(study.name) == (study, news), "a study that is read by its name has other entries")
    require(news.entries == (whole, leased), f"two entries were added, what came back is {news.entries}")
    kinds = [type(value) for value in news.entries[0].trial.params.values()]
    require(kinds == [float, int], f"a float and a whole number came back as {kinds}")
    require(news.revision > start.revision, "the revision did not grow")
    require(other.news(study, news.revision).entries == (), "old entries are told as news")
    for number in (1, 3):
        wrong = partial(other.add, study, lambda _, wrong=number: [_entry(wrong, now)], "b")  # type: ignore[misc]
        _raises(Outdated, wrong, f"trial {number} after trial 1")
    require(store.news(study).entries == (whole, leased), "a refused entry left something behind")
    seen = store.observations(study)
    told = [(seen_.number, seen_.by, seen_.state, dict(seen_.measurements), seen_.note) for seen_ in seen]
    expected = [(0, "a", State.COMPLETE, _measured(0.1 + 0.2, 1e-17), AWKWARD)]
    require(told == expected, f"one value was told, the observations are {told}")


def _changes(store: Store, other: Store, study: StudyRecord) -> None:
    before = store.news(study)

    def value(number: float) -> Change:
        told = {"value": Measurement(number)}
        return lambda old, now: replace(
            old, trial=replace(old.trial, state=State.COMPLETE, measurements=told), owner=None
        )

    for number in (1.5, 2.5):
        [changed] = other.change(study, 1, value(number), AWKWARD).entries
        require(changed.trial.value == number, "a changed entry is not returned as it is now")
    news = store.news(study, before.revision)
    require(news.entries == (changed,), f"one entry was changed, the news are {news.entries}")
    history = [(told.value, told.by) for told in store.observations(study, 1)]
    require(history == [(1.5, AWKWARD), (2.5, AWKWARD)], f"two values were told in turn, the history is {history}")
    since = store.change(study, 1, lambda old, now: replace(old, lease_until=now), "c", news.revision)
    require(since == store.news(study, news.revision), f"the news of a change are {since}")
    require(len(other.observations(study, 1)) == 2, "a change of the lease alone is kept as something told")
    revision = store.news(study).revision
    unchanged = other.change(study, 1, lambda old, now: old, "d", 0)
    require(unchanged == store.news(study), f"a change that changes nothing gives the news {unchanged}")
    require(store.news(study).revision == revision, "a change that changes nothing gives a new revision")

    def refuse(old: Entry, now: float) -> Entry:
        raise ZeroDivisionError

    try:
        store.change(study, 1, refuse, "e")
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("what a rule raises does not come through")
    require(other.news(study).revision == revision, "a rule that raised has changed something")
    _raises(
        StorageError,
        lambda: store.change(study, 99, lambda old, now: old, "f"),
        "a change of a trial that is not there",
    )


def _side_by_side(store: Store, other: Store, study: StudyRecord, each: int = 20) -> None:
    """Threads count in one entry: no step may be lost; and only one at a time may propose."""
    begin = store.news(study).entries[1].tries
    proposing: list[int] = []
    most: list[int] = []
    errors: list[BaseException] = []

    def count(which: Store) -> None:
        try:
            for _ in range(each):
                which.change(study, 1, lambda old, now: replace(old, tries=old.tries + 1), "a")
                with which.asking(study):
                    proposing.append(1)
                    most.append(len(proposing))
                    proposing.pop()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=count, args=(which,)) for which in (store, other, store, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(not errors, f"side by side, a store raised {errors[:1]}")
    counted = store.news(study).entries[1].tries - begin
    require(counted == each * len(threads), f"{each * len(threads)} steps were counted as {counted}")
    require(max(most) == 1, f"{max(most)} were asking at once")


def _turns(store: Store, other: Store, study: StudyRecord) -> None:
    """Who was overtaken cannot add trials any more, and does not end the turn of others."""
    number = len(store.news(study).entries)

    def new(now: float) -> list[Entry]:
        return [_entry(number, 0.5)]

    with store.asking(study) as turn:
        first = other.turn(study)
        require(
            first.number == turn.number and first.holder is not None, f"turn {turn.number} is seen by others as {first}"
        )
        second = other.change_turn(study, lambda old, now: Turn(old.number + 1, AWKWARD, now))
        require(store.turn(study) == second, f"the turn {second} is seen by others as {store.turn(study)}")
        _raises(Overtaken, lambda: store.add(study, new, "a", turn), "a trial of one who was overtaken")
    require(other.turn(study) == second, "one who was overtaken has ended the turn of another")
    store.change_turn(study, lambda old, now: replace(old, holder=None))
    _raises(Overtaken, lambda: store.add(study, new, "a", turn), "a trial of an earlier turn")
    with other.asking(study) as turn:
        require(turn.number > second.number, f"turn {turn.number} comes after turn {second.number}")
        other.add(study, new, "a", turn)
        require(store.turn(study).holder is None, "a turn goes on after what was asked in it")
    require(store.turn(study).holder is None, "a turn that has ended still has a holder")
    require(store.news(study).entries[-1:] == tuple(new(0.0)), "a trial that was asked in time is not there")


def _verdicts(store: Store, other: Store, study: StudyRecord) -> None:
    first = Verdict([{"x": 1 / 3, "label": AWKWARD}], -1.25, 0.5, AWKWARD, 3, raw=None)
    second = replace(first, observations=4, failed=2)
    for verdict in (first, second, replace(second, worth=AWKWARD)):
        store.keep(study, verdict)
    kept = [stored.verdict for stored in other.verdicts(study)]
    require(kept == [first, second], f"two verdicts came back as {kept}")
    beside = Rival({"x": 0.5, "label": AWKWARD}, (2, 5), {"value": 1 / 3}, 0.25, 0.125, 0.75)
    compared = Comparison(
        AWKWARD, (1,), {"value": 2 / 3}, best=beside, alternative=replace(beside, trials=(), values={})
    )
    store.keep(study, replace(second, worth=AWKWARD, comparison=compared))
    found = [stored.verdict.comparison for stored in other.verdicts(study)]
    require(found == [None, compared], f"a comparison with measured designs came back as {found}")
    worth = [verdict.worth for verdict in kept]
    require(worth == ["", AWKWARD], f"what another experiment is worth came back as {worth}")


def _deletion(store: Store, other: Store, study: StudyRecord) -> None:
    keep = store.create("stays", {}, {})
    store.add(keep, lambda now: [_entry(0, now, measurements=_measured(1.0), state=State.COMPLETE)], "a")
    other.delete(study)
    require(store.find(study.name) is None, "a deleted study is still found")
    _raises(StorageError, lambda: store.news(study), "news of a deleted study")
    _raises(StorageError, lambda: store.change(study, 1, lambda old, now: old, "a"), "a change in a deleted study")
    require(len(store.news(keep).entries) == 1, "another study lost its trials")
    gone = store.create(study.name, {}, {})
    store.delete(gone)
    anew = store.create(study.name, {}, {})  # in some databases with the id of the one before
    verdict = Verdict([{"x": 0.5}], -1.0, 0.5, "maximize", 1, raw=None)
    for who, last in ((store, study), (other, gone)):
        uses: dict[str, Callable[[StudyRecord], object]] = {
            "news": who.news,
            "a verdict": partial(who.keep, verdict=verdict),
            "the verdicts": who.verdicts,
            "the observations": who.observations,
            "the turn": who.turn,
            "another definition": partial(who.redefine, rule=dict),
        }
        for what, use in uses.items():
            _raises(StorageError, lambda: use(last), f"{what} of a deleted study that was made again")  # noqa: B023
    require(store.news(anew).entries == () and store.verdicts(anew) == (), "a new study inherits from a deleted one")
    for leftover in (keep, anew):
        store.delete(leftover)
