"""The directive `http-api`: every request that the server answers, from its own OpenAPI description."""

from collections.abc import Iterator, Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hentropy.views.server.app import make_app
from hentropy.views.server.settings import Settings


class HttpApi(SphinxDirective):
    """A section for each request."""

    def run(self) -> list[nodes.Node]:
        """The sections, as the text of a page; the store is never opened."""
        description = make_app(Settings("sqlite:///unused.db")).openapi()
        text = "\n".join(line for path, verbs in description["paths"].items() for line in _sections(path, verbs))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def _sections(path: str, verbs: Mapping[str, Any]) -> Iterator[str]:
    if not path.startswith("/api"):
        return
    for verb, request in verbs.items():
        yield f"## {request['summary']}\n"
        yield f"```text\n{verb.upper()} {path}\n```\n"
        yield f"{request.get('description', '')}\n"
        rows = [*map(_parameter, request.get("parameters", ())), *_body(request)]
        if rows:
            yield "| part | type | meaning |\n|---|---|---|"
            yield from rows
            yield ""
        answers = ", ".join(f"{code} ({each['description']})" for code, each in request["responses"].items())
        yield f"Answers: {answers}.\n"


def _parameter(parameter: Mapping[str, Any]) -> str:
    place = {"query": "`?{}=`", "path": "`{}` in the path", "header": "header `{}`", "cookie": "cookie `{}`"}
    name = place[parameter["in"]].format(parameter["name"])
    return f"| {name} | {_type(parameter['schema'])} | {_one_line(parameter.get('description', ''))} |"


def _body(request: Mapping[str, Any]) -> Iterator[str]:
    for kind, content in request.get("requestBody", {}).get("content", {}).items():
        yield f"| body, `{kind}` | {_type(content.get('schema', {}))} | |"


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    forms = [_type(form) for form in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]]
    if forms:
        return " or ".join(forms)
    return str(schema.get("type", "any"))


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("http-api", HttpApi)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
