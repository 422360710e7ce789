-- Why: the first screen compares today with the days before until the same minute, without reading their transactions.
-- Compatible with code from migration 0015 on.

-- What became of the charges that a merchant created on a day until the end of a minute of that day. Only minutes in
-- which something changed have a row, so the latest row before a minute has the figures of that minute. A job writes the
-- rows of a day when it is over, and deletes them after a week.
create table transaction_minutes (
  merchant_id uuid not null,
  day date not null,
  minute smallint not null,
  created integer not null,
  created_amount bigint not null,
  paid integer not null,
  paid_amount bigint not null,
  failed integer not null,
  primary key (merchant_id, day, minute)
);
