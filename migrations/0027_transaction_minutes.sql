-- Why: the first screen of the dashboard compares today with earlier days up to the same minute, without reading the
-- transactions of those days.
-- Compatible with code from migration 0015 on.

-- The charges that a merchant created on a day in Brasília time, as they were at the end of a minute of that day: how
-- many were created, paid and failed, and the sums of the first two in cents. Only minutes in which something changed
-- have a row, so the latest row before a moment has the figures of that moment. A job writes the rows of a day when the
-- day is over, and deletes them after a week.
create table transaction_minutes (
  merchant_id uuid not null,
  day date not null,
  -- Counted from the beginning of the day, which is 0.
  minute smallint not null,
  created integer not null,
  created_amount bigint not null,
  paid integer not null,
  paid_amount bigint not null,
  failed integer not null,
  primary key (merchant_id, day, minute)
);
