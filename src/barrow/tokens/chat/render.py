"""Renders chat templates, a line of JSON for each: run as a script, with nothing of barrow loaded.

Templates are programs that strangers wrote. They run in Jinja's sandbox, in this process, which has
limits of memory and of processor time; whoever passes the second ends the process.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from datetime import datetime
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

MARK = "generation_mark"


class _Generation(Extension):
    """``{% generation %}…{% endgeneration %}``: what the assistant wrote, between two marks."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 wants it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_marked", [nodes.ContextReference()])
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _marked(self, context: Any, caller: Any) -> str:
        mark = context.get(MARK, "")
        return f"{mark}{caller()}{mark}"


class _Namespace(Namespace):
    """Jinja's, without names that Python itself uses."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a name in a namespace may not begin with _, got {name!r}")
        super().__setitem__(name, value)


class _Refused(Exception):
    """The template refuses the conversation."""


def _refuse(message: str) -> None:
    raise _Refused(message)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, **more: Any
) -> str:
    """Jinja's own would escape HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, **more
    )


@lru_cache(maxsize=4)
def _compiled(template: str) -> jinja2.Template:
    """As transformers compiles it: its filters, functions and ways with white space."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["namespace"] = _Namespace
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(template)


def _answer(line: str, most_text: int) -> dict[str, str]:
    asked = json.loads(line)
    try:
        text = _compiled(asked["template"]).render(**asked["variables"])
    except _Refused as error:
        return {"refused": str(error)}
    except Exception as error:  # noqa: BLE001 - a template may raise anything
        return {"failed": f"{type(error).__name__}: {error}"}
    if len(text) > most_text:
        return {"failed": f"its text has more than {most_text:,} characters"}
    return {"text": text}


def main(seconds: float, most_bytes: int, most_text: int) -> None:
    """Answer lines until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    for line in sys.stdin:
        # Processor time, so that a busy machine changes nothing; its signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        answer = json.dumps(_answer(line, most_text))
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
