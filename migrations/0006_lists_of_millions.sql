-- Why: lists with their exact totals, as fast among millions as among thousands. A merchant's page is read from an index, whatever the
-- filter; how many there are is counted when a transaction comes or moves, not each time that somebody looks (docs/decisions/0007).

-- The name is searched in here, where a merchant's entries lie together: 9 ms for 100,000 of them, where their rows took 435. An index of
-- trigrams took 1 to 20 ms, more the larger the whole table is, and a fifth of the inserts.
drop index transactions_newest;
create index transactions_newest on transactions (merchant_id, created_at desc, id desc) include (status, amount, customer_search_name);
-- What few transactions are: a page of them would else pass over thousands of others. No insert writes to it, as long as the acquirer answers.
create index transactions_rare on transactions (merchant_id, status, created_at desc, id desc)
  where status not in ('PIX_QRCODE_GENERATED', 'PAID', 'FAILED');

-- Deliveries that did not arrive are few; those that are due have an index already, and nearly no birth of one writes to this.
create index webhook_deliveries_undelivered on webhook_deliveries (merchant_id, state, created_at desc, event_id desc)
  where state in ('waiting', 'exhausted', 'gone');

-- A statement is counted and paged by these alone, whatever its filters: 15 ms for 118,000 entries, where the whole table was read.
drop index ledger_transfers_of_debit;
drop index ledger_transfers_of_credit;
create index ledger_transfers_of_debit on ledger_transfers (merchant_id, debit, id) include (kind, created_at);
create index ledger_transfers_of_credit on ledger_transfers (merchant_id, credit, id) include (kind, created_at);

-- The day in Brazil, where nearly every filter of dates begins at midnight.
create function brazilian_day(at timestamptz) returns date
  language sql immutable parallel safe
  return (at at time zone interval '-3 hours')::date;

-- How many transactions a merchant has of a day and a status, and of what they are together (what was paid, else what was asked for): the sum of what stands in both tables. A change is only ever added, so that
-- no writer waits for another; a job folds the changes into the counts. Both in one commit each, so any snapshot has the exact number.
create table transaction_counts (
  merchant_id uuid not null,
  day date not null,
  status text not null,
  count bigint not null,
  amount bigint not null,
  primary key (merchant_id, day, status)
) with (fillfactor = 80);
create table transaction_count_changes (
  merchant_id uuid not null,
  day date not null,
  status text not null,
  change bigint not null,
  amount bigint not null
) with (
  -- Emptied every few seconds: vacuumed by what passed through it.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_threshold = -1
);
create index transaction_count_changes_of_merchant on transaction_count_changes (merchant_id);

-- The only triggers. Whoever writes transactions is counted, by whatever statement; once per statement, hence once per batch.
create function count_added_transactions() returns trigger language plpgsql as $$
begin
  insert into transaction_count_changes (merchant_id, day, status, change, amount)
  select merchant_id, brazilian_day(created_at), status, count(*), sum(coalesce(amount_paid, amount)) from added group by 1, 2, 3;
  return null;
end $$;
create trigger transactions_added after insert on transactions
  referencing new table as added for each statement execute function count_added_transactions();

create function count_moved_transactions() returns trigger language plpgsql as $$
begin
  insert into transaction_count_changes (merchant_id, day, status, change, amount)
  select merchant_id, brazilian_day(created_at), status, sum(change), sum(change * worth) from (
    select merchant_id, created_at, status, 1 as change, coalesce(amount_paid, amount) as worth from added
    union all
    select merchant_id, created_at, status, -1, coalesce(amount_paid, amount) from removed
  ) moved
  group by 1, 2, 3 having sum(change) <> 0 or sum(change * worth) <> 0;
  return null;
end $$;
create trigger transactions_moved after update on transactions
  referencing new table as added old table as removed for each statement execute function count_moved_transactions();

-- The service deletes none; who mends by hand, or fills a database to measure on, does.
create function count_removed_transactions() returns trigger language plpgsql as $$
begin
  insert into transaction_count_changes (merchant_id, day, status, change, amount)
  select merchant_id, brazilian_day(created_at), status, -count(*), -sum(coalesce(amount_paid, amount)) from removed group by 1, 2, 3;
  return null;
end $$;
create trigger transactions_removed after delete on transactions
  referencing old table as removed for each statement execute function count_removed_transactions();

create function forget_transaction_counts() returns trigger language plpgsql as $$
begin
  truncate transaction_counts, transaction_count_changes;
  return null;
end $$;
create trigger transactions_emptied after truncate on transactions
  for each statement execute function forget_transaction_counts();

-- Those from before. Nobody writes meanwhile: the triggers' lock is held until the commit.
insert into transaction_counts (merchant_id, day, status, count, amount)
select merchant_id, brazilian_day(created_at), status, count(*), sum(coalesce(amount_paid, amount)) from transactions group by 1, 2, 3;
