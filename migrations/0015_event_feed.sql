-- Why: a merchant reads all of its events in one order and misses none, however many transactions commit at once.
--
-- A sequence or a clock cannot give that order: a number is taken before the commit, and may become visible after a
-- higher one. So events are numbered when somebody reads the feed (src/webhooks/feed-store.ts): the next numbers go to
-- events that are visible now and were not visible in the snapshot of the previous numbering. For a merchant that never
-- reads the feed, only the column xid and its index are written.

-- The PostgreSQL transaction that wrote the event.
alter table events add column xid xid8 not null default pg_current_xact_id();
-- 0013_statistics.sql says why.
alter table events alter column xid set statistics 25;
create index events_unnumbered on events (merchant_id, xid);

create table event_feeds (
  merchant_id uuid primary key references clients,
  last_number bigint not null check (last_number >= 0),
  -- The snapshot of the last numbering: all events that were visible in it have a number.
  snapshot pg_snapshot not null,
  -- The system_identifier of the PostgreSQL cluster of the snapshot: its transaction ids have no meaning in another
  -- cluster.
  server text not null
) with (fillfactor = 50);

-- The numbers of a merchant's events: 1, 2, 3 … without a gap. Rows never change. There is no foreign key to events:
-- its check would lock each event, and so write the event's row again.
create table event_numbers (
  merchant_id uuid not null,
  number bigint not null,
  record_id uuid not null,
  sequence integer not null,
  primary key (merchant_id, number),
  unique (merchant_id, record_id, sequence)
);

-- How far a message broker has acknowledged a merchant's events (src/sinks): all up to this number.
create table event_sinks (
  sink text not null,
  merchant_id uuid not null references clients,
  number bigint not null,
  primary key (sink, merchant_id)
) with (fillfactor = 50);
