"""Whatever is noted in the trail has words, in every language."""

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pickupbox
from pickupbox.admin.pages.audit_words import catalogue, say

SOURCE = Path(pickupbox.__file__).parent
ACTION = 3  # its place among the arguments of `note`, and of those who hand it on


def spellings(said: ast.expr) -> list[str]:
    """What an expression can say; * is what only the run knows."""
    match said:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp():
            return spellings(said.body) + spellings(said.orelse)
        case ast.FormattedValue():
            return spellings(said.value)
        case ast.JoinedStr():
            return ["".join(parts) for parts in product(*map(spellings, said.values))]
        case _:
            return ["*"]


def noted(source: str) -> Iterator[str]:
    """Every action that a module notes, also by a function of its own that hands it on."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AsyncFunctionDef)]
    names = {"note"}
    for function in functions:
        given = [argument.arg for argument in function.args.args][ACTION : ACTION + 1]
        names |= {
            function.name for said in calls(function, {"note"}) if isinstance(said, ast.Name) and given == [said.id]
        }
    for function in functions:
        for said in calls(function, names):
            if function.name not in names:
                yield from spellings(said)


def calls(within: ast.AST, names: set[str]) -> Iterator[ast.expr]:
    for node in ast.walk(within):
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in names and len(arguments) > ACTION:
                yield arguments[ACTION]


def has_words(action: str) -> bool:
    known = catalogue()
    name = action.partition(": ")[0]
    return say(action, known).words != name or any(fnmatchcase(one, name) for one in known)


def test_every_action_that_is_noted_has_words() -> None:
    actions = {action for file in SOURCE.rglob("*.py") for action in noted(file.read_text())}
    assert {"key.issue", "box.deactivate", "session.refuse.password", "compartment.out_of_service: *"} <= actions
    assert [action for action in actions if action.startswith("*")] == [], "what cannot be read here cannot be held"
    assert sorted(action for action in actions if not has_words(action)) == []


def test_an_action_without_words_is_noticed() -> None:
    source = "async def fly():\n    await note(core, tx, caller, f'{way}.fly: {reason}' if a else 'box.fly', obj)"
    assert list(noted(source)) == ["*.fly: *", "box.fly"]
    assert not has_words("wings.fly: *")
    assert not has_words("session.fly")
