# Written by `npm run sdk:types` from ../_async/_list.py. Edit that, not this file.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic

from .._page import Entry, Page, to_page

# The service's maximum, so that reading all pages takes the fewest requests.
_PER_PAGE_MAX = 100
_ALL_MAX = 10_000


class List(Generic[Entry]):
    """
    A list, newest first. Nothing is requested until it is read: item after item, over all pages, by ``for``; or
    by one of the methods.
    """

    def __init__(
        self, fetch: Callable[[Mapping[str, object]], Any], filters: Mapping[str, object]
    ) -> None:
        self._fetch = fetch
        self._filters = filters

    def page(self) -> Page[Entry]:
        """
        One page: the first, unless you gave ``page`` or ``cursor``. 20 items, unless you gave ``perPage``. It has the
        exact ``total`` and the ``next_cursor``.
        """
        return to_page(self._fetch({}))

    def pages(self) -> Iterator[Page[Entry]]:
        """Page after page to the end, from the requested one. 100 items each, unless you gave ``perPage``."""
        per_page = self._filters.get("perPage") or _PER_PAGE_MAX
        more: dict[str, object] = {"perPage": per_page}
        while True:
            page: Page[Entry] = to_page(self._fetch(more))
            yield page
            if page.next_cursor is None:
                return
            more = {"perPage": per_page, "page": None, "cursor": page.next_cursor}

    def __iter__(self) -> Iterator[Entry]:
        for page in self.pages():
            for entry in page.data:
                yield entry

    def all(self, *, limit: int | None = None) -> list[Entry]:
        """
        The items of all pages: up to ``limit`` of them, if given.

        :raises ValueError: when there are more than 10,000 and no ``limit`` was given: read those one by one; or when
            ``limit`` is negative
        """
        if limit is not None and limit < 0:
            raise ValueError("limit must be 0 or more.")
        items: list[Entry] = []
        if limit == 0:
            return items
        for item in self:
            if limit is None and len(items) == _ALL_MAX:
                raise ValueError(f"There are more than {_ALL_MAX} items. Read them one by one, or give a limit.")
            items.append(item)
            if len(items) == limit:
                break
        return items
