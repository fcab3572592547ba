"""The container file and the compose example name what there is: commands, options, files, extras, ports."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.specifiers import SpecifierSet

from hentropy.views.cli.app import COMMANDS
from hentropy.views.cli.commands import LazyCommand
from hentropy.views.server.settings import PORT
from support.visiting import of_the_pages

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def instructions() -> Iterator[tuple[str, str]]:
    """The lines of the container file: instruction and arguments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


UsageError = typer.BadParameter.__mro__[1]


def parse(arguments: list[str]) -> Any:
    """A command line of hentropy as the command reads it, without running it."""
    name, *rest = arguments
    return LazyCommand(name, COMMANDS[name]).make_context(name, rest)


def test_the_check_of_commands_finds_what_there_is_not() -> None:
    parse(["serve", "--json-lines"])
    for arguments in (["serve", "--jsonlines"], ["worker"], ["serve", "--port", "x"]):
        with pytest.raises(UsageError):
            parse(arguments)


def test_the_container_file_installs_and_starts_what_there_is() -> None:
    lines = list(instructions())
    known = ["FROM", "ARG", "WORKDIR", "COPY", "RUN", "VOLUME", "USER", "ENV", "EXPOSE", "ENTRYPOINT", "CMD"]
    assert [word for word, _ in lines if word not in known] == []
    by_word = dict(lines)
    version = re.fullmatch(r"python:(\d+\.\d+)-slim", by_word["FROM"])
    assert version
    assert SpecifierSet(PROJECT["requires-python"]).contains(version[1])
    for word, rest in lines:
        if word == "COPY":
            assert [source for source in rest.split()[:-1] if not (ROOT / source).exists()] == []
    [install] = [rest for word, rest in lines if word == "RUN"]
    extras = re.search(r"\.\[([a-z,]+)\]", install)
    assert extras
    assert {*extras[1].split(",")} <= {*PROJECT["optional-dependencies"]}
    assert {"cli", "server", "postgres"} <= {*extras[1].split(",")}
    assert by_word["EXPOSE"] == str(PORT)
    assert json.loads(by_word["ENTRYPOINT"])[0] in PROJECT["scripts"]
    parse(json.loads(by_word["CMD"]))
    users = [number for number, (word, _) in enumerate(lines) if word == "USER"]
    assert users  # nothing runs as root
    assert by_word["USER"] in re.findall(r"useradd .*?(\w+) *(?:&&|$)", install)


def test_the_compose_example_fits_together() -> None:
    found = compose()
    services = found["services"]
    for name, service in services.items():
        for other, terms in service.get("depends_on", {}).items():
            assert terms == {"condition": "service_healthy"}
            assert "healthcheck" in services[other], name
        if "build" in service:
            place = DEPLOY / service["build"]["context"]
            assert (place / service["build"]["dockerfile"]).samefile(DEPLOY / "Dockerfile")
            parse(service["command"])
            url = service["command"][service["command"].index("--store") + 1]
            user, host, database = re.fullmatch(r"postgresql://(\w+)@(\w+)/(\w+)", url).groups()  # type: ignore[union-attr]
            environment = services[host]["environment"]
            assert (environment["POSTGRES_USER"], environment["POSTGRES_DB"]) == (user, database)
            assert service["environment"]["PGPASSWORD"] == environment["POSTGRES_PASSWORD"]
        for volume in service.get("volumes", []):
            place, _, _ = volume.partition(":")
            assert place.startswith("./") or place in found["volumes"]
    assert services["server"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    [probed] = re.findall(rf"http://127\.0\.0\.1:{PORT}(/\w+)", services["server"]["healthcheck"]["test"][-1])
    assert ("GET", probed) in of_the_pages()
    compile(services["server"]["healthcheck"]["test"][-1], "healthcheck", "exec")
    options = parse(["serve"]).command.params
    assert "HENTROPY_TOKEN" in {one.envvar for one in options}
    assert "HENTROPY_TOKEN" in services["server"]["environment"]


def test_secrets_are_asked_for_and_made_as_the_head_says() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    asked = {*re.findall(r"\$\{(\w+):\?", text)}
    assert asked == {*re.findall(r'echo "(\w+)=\$\(openssl', text)} == {"POSTGRES_PASSWORD", "HENTROPY_TOKEN"}
    assert not re.findall(r"\$\{\w+\}", text)
    for line in re.findall(r"^#   (docker compose .*)$", text, re.MULTILINE):
        for profile in re.findall(r"--profile (\w+)", line):
            assert any(profile in service.get("profiles", []) for service in compose()["services"].values())
        for scaled in re.findall(r"--scale (\w+)=", line):
            assert scaled in compose()["services"]
        assert shlex.split(line)[:2] == ["docker", "compose"]
