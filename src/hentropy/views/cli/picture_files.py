"""Pictures and reports of a study written to files. It needs matplotlib, and takes long to import."""

from collections.abc import Sequence
from pathlib import Path

import typer

from hentropy.errors import HentropyError, InputError, StudyError
from hentropy.views.cli.files import check_new, file_name, naming, write_new
from hentropy.views.cli.opening import file_of, located, opened
from hentropy.views.cli.printing import note, say
from hentropy.views.plots.pictures import PICTURES, picture
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.with_matplotlib import rendered
from hentropy.views.report import report_html


def plot_all(study: str, what: Sequence[str], out: Path | None, form: str, *, force: bool, store: str | None) -> None:
    """Write pictures of a study into a folder, and say what was written; all of them if `what` is empty."""
    for name in what:
        if name not in PICTURES:
            raise typer.BadParameter(
                f"there is no picture {name!r}; available: {', '.join(PICTURES)}", param_hint="--what"
            )
    place = located(study, store)
    folder = out or Path(f"{file_name(place.name)}-pictures")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the pictures")
    files = {name: folder / f"{name}.{form}" for name in dict.fromkeys(what or PICTURES)}
    if folder.is_dir():
        for path in files.values():
            check_new(path, force=force)
    with opened(place) as it:
        scene = scene_of(it)
        with naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
        missing = [name for name, path in files.items() if not _written(scene, name, path, force)]
    if len(missing) == len(files):
        raise StudyError(f"no picture was written to {folder}")


def _written(scene: Scene, name: str, path: Path, force: bool) -> bool:
    """Whether a picture could be drawn, and was written; if not, why is said."""
    try:
        drawn = picture(scene, name)
    except HentropyError as error:
        note(f"{name}: {error}")
        return False
    write_new(path, rendered(drawn, path.suffix), force=force)
    say(str(path), "bold")
    say(f"  {drawn.title}{'' if drawn.title.endswith('?') else '.'} {drawn.caption}")
    return True


def write_report(study: str, out: Path | None, *, force: bool, store: str | None) -> None:
    """Write the report of a study, and say where it is."""
    place = located(study, store)
    path = out or Path(f"{file_name(place.name)}-report.html")
    if path.resolve() in {own.resolve() for own in (place.file, file_of(place.url)) if own}:
        raise InputError(f"{path} is the study itself; name another file to write the report to")
    check_new(path, force=force)
    with opened(place) as it:
        text = report_html(it)
    write_new(path, text, force=force)
    say(f"Wrote the report to {path} ({len(text.encode('utf-8')) / 1e6:.1f} MB); open it in a browser.")
