from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._errors import unexpected_answer

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class Page(Generic[Entry]):
    """A page of a list."""

    data: list[Entry]
    total: int
    """Number of items on all pages."""
    total_pages: int
    current_page: int
    """Counts from 1."""
    per_page: int
    next_cursor: str | None
    """Send it as ``cursor`` to get the next page. ``None`` on the last page."""


def to_page(answer: Any) -> Page[Any]:
    try:
        return Page(
            data=answer["data"],
            total=answer["total"],
            total_pages=answer["totalPages"],
            current_page=answer["currentPage"],
            per_page=answer["perPage"],
            next_cursor=answer["nextCursor"],
        )
    except KeyError:
        raise unexpected_answer(200) from None
