-- Why: a merchant reads all of its events in one order and misses none, however many transactions commit at once.
--
-- A sequence or a clock cannot give that order: a number that is taken before the commit becomes visible after a later
-- one. So events are numbered when somebody reads the feed (src/webhooks/feed-store.ts): those that are visible now and
-- were not visible in the snapshot of the previous numbering come next. A merchant who never reads costs nothing but
-- this column and its index.

-- The transaction that wrote the event.
alter table events add column xid xid8 not null default pg_current_xact_id();
-- As 0013_statistics.sql says.
alter table events alter column xid set statistics 25;
create index events_unnumbered on events (merchant_id, xid);

create table event_feeds (
  merchant_id uuid primary key references clients,
  last_number bigint not null check (last_number >= 0),
  -- All events that were visible in it are numbered.
  snapshot pg_snapshot not null,
  -- The system_identifier of the server that made the snapshot: transaction ids mean nothing on another one.
  server text not null
) with (fillfactor = 50);

-- The numbers of a merchant's events: 1, 2, 3 … without a gap. Never changed. Without a foreign key: it would lock,
-- and so write, each event again.
create table event_numbers (
  merchant_id uuid not null,
  number bigint not null,
  record_id uuid not null,
  sequence integer not null,
  primary key (merchant_id, number),
  unique (merchant_id, record_id, sequence)
);

-- How far a message broker has acknowledged a merchant's events (src/sinks).
create table event_sinks (
  sink text not null,
  merchant_id uuid not null references clients,
  number bigint not null,
  primary key (sink, merchant_id)
) with (fillfactor = 50);
