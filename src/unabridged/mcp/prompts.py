"""Prompts: what a user may ask an agent to do with the memory, by name, in clients that offer them as commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["register"]

_ANSWER = """\
Answer this question from my memory alone: {question}

Call `recall` with it, and again in other words where that leaves something open. \
Use `timeline` for what has changed. Name the source of each statement. Say so where the memory does not hold the \
answer; do not fill the gap with what you know from elsewhere."""

_KEEP = """\
Go through our conversation and keep what will matter later: decisions, preferences, facts about people, projects and \
places, and dates. Call `recall` first, so that nothing is stored twice. Then call `remember` once for each subject, \
with kind "memory", in whole sentences that say who, what and when without our conversation beside them. Tell me in a \
short list what you have kept."""

_REVIEW = """\
Show me what my memory holds about {subject}. Call `recall` and, for people, places and projects, `timeline`. List \
what still holds, then what has ended, each with its source and its id, so that I can tell you what to `forget`. \
Forget nothing on your own."""


def register(server: MCPServer) -> None:
    """Add the prompts."""

    @server.prompt(title="Answer from memory")
    def answer_from_memory(question: Annotated[str, Field(description="What you want to know.")]) -> str:
        """Answer a question from the memory alone, each statement with its source."""
        return _ANSWER.format(question=question)

    @server.prompt(title="Keep this conversation")
    def keep_this_conversation() -> str:
        """Remember what of this conversation will matter later."""
        return _KEEP

    @server.prompt(title="Review what is remembered")
    def review_memory(
        subject: Annotated[str, Field(description="A person, a project, a subject; or 'me'.")],
    ) -> str:
        """See what the memory holds about something, and what could be forgotten."""
        return _REVIEW.format(subject=subject)
