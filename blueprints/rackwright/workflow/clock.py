"""The day and the moment at which a pipeline evaluates capacity blocks and expiry."""

from datetime import UTC, date, datetime


def clock(day: date | None = None) -> tuple[date, datetime | None]:
    """(day, moment): now; for an explicit day, that day without a moment."""
    return (day, None) if day else (date.today(), datetime.now(UTC))
