"""Is an answer of use, and how to ask once more if it is not (case 38; pure)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.providers.chat_json import Misfit, read_answer, without_thought

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.memory.asking.chat import Question
    from unabridged.providers.chat_replies import ChatReply

__all__ = ["Unusable", "repair", "value_of"]

_MORE = 4  # times the budget, for an answer that was cut off
_QUOTED = 4000  # characters of an unreadable answer that are shown to the model again
_REPAIRABLE = frozenset({"unreadable", "truncated", "empty"})


class Unusable(Exception):
    """An answer that is of no use: the reason, and what is wrong with it, without a word of it."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem

    @property
    def repairable(self) -> bool:
        """Whether asking once more can help: a refusal stays one."""
        return self.reason in _REPAIRABLE

    def sentence(self, stage: str) -> str:
        """For the error's message."""
        return f"{stage}: the model's answer cannot be used ({self.reason}): {self.problem}"


def value_of(reply: ChatReply, question: Question) -> Any:
    """What a reply says: text, or JSON that fits the schema. Raises :class:`Unusable`."""
    if reply.withheld:
        raise Unusable("withheld", "its provider's filter held it back")
    said = without_thought(reply.text)
    if reply.refusal is not None and not said:
        raise Unusable("refused", "the model would not answer")
    if question.schema is None:
        return _text(said, reply)
    if not reply.finished and said[:1] not in {"{", "[", "`"}:
        raise Unusable("truncated", "it was cut off at its length")
    try:
        return read_answer(said or reply.thought, question.schema, question.aliases)
    except Misfit as misfit:
        cut = misfit.cut or not reply.finished
        raise Unusable("truncated" if cut else "unreadable" if said else "empty", str(misfit)) from None


def _text(said: str, reply: ChatReply) -> str:
    if not reply.finished:
        raise Unusable("truncated", "it was cut off at its length")
    if not said:
        raise Unusable("empty", "there is no answer")
    return said


def repair(question: Question, reply: ChatReply, unusable: Unusable) -> Question:
    """The question put so that the answer may come out right: in words, with more room, or with what was wrong."""
    form = None if question.schema is None or reply.form == "plain" else "plain"
    if unusable.reason == "truncated":
        note = "Your answer was cut off. Answer again, complete, and as briefly as you can."
        budget = question.max_tokens * _MORE if question.max_tokens else None
        return replace(question, messages=_with(question, note), max_tokens=budget)
    if unusable.reason == "empty":
        return replace(question, messages=_with(question, "Answer at once, without any introduction."), form=form)
    said = {"role": "assistant", "content": reply.text[:_QUOTED]}
    told = f"That cannot be used: {unusable.problem}. Answer again: one JSON object as was asked for, and nothing else."
    return replace(question, messages=(*question.messages, said, {"role": "user", "content": told}), form=form)


def _with(question: Question, note: str) -> tuple[Mapping[str, str], ...]:
    """The note after what the user said: two turns of one role in a row are not taken everywhere."""
    *before, last = question.messages
    return (*before, {**last, "content": f"{last['content']}\n\n{note}"})
