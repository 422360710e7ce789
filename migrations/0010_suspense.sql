-- Why: money that arrived and is not known for what: without a txid, under one that is not ours, or for what was paid already. It is
-- held in suspense until it is sent back or matched to the transaction that it was meant for (docs/suspense.md).

-- The operator's own merchant, "house", holds what belongs to no other: it has an id, accounts, and never a client (src/suspense/house.ts).
alter table clients
  add constraint clients_house_is_none check (merchant_id <> '00000000-0000-8000-8000-000000000001');

-- The same table as src/suspense/status.ts; a test keeps them equal.
create function suspense_moves_are_allowed(statuses text[]) returns boolean
  language sql immutable parallel safe
  return statuses[1] = 'held' and not exists (
    select from generate_subscripts(statuses, 1) i
    where i > 1 and statuses[i - 1] || '>' || statuses[i] <> all (array[
      'held>matched', 'held>returning', 'held>returned',
      'matched>held',
      'returning>returned', 'returning>held'
    ])
  );

create table suspense_payments (
  -- Whose suspense it is in: the house's, or that of the merchant whose transaction was paid a second time.
  merchant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('orphan', 'surplus')),
  acquirer text not null,
  end_to_end text not null,
  -- As the payer's bank told it: of nothing that is ours.
  txid text,
  amount bigint not null check (amount > 0),
  paid_at timestamptz(3) not null,
  payer json,
  receiver json not null,
  -- Of a surplus: what had been paid already.
  transaction_id uuid,
  -- What it is matched to.
  matched_merchant_id uuid,
  matched_transaction_id uuid,
  -- Our own return of it, under way or done, and its id at the acquirer.
  return_id uuid,
  return_amount bigint,
  return_end_to_end text,
  -- What others have returned of it: the acquirer under MED, or somebody by hand at the acquirer.
  taken_amount bigint not null default 0,
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  -- Why it was not sent back, or not yet.
  error_message text,
  -- When the service next does something of its own accord: looks for its transaction, or asks what became of its return.
  check_at timestamptz(3),
  primary key (merchant_id, id),
  -- However often an acquirer tells of it.
  constraint suspense_payments_once unique (acquirer, end_to_end),
  foreign key (transaction_id, merchant_id) references transactions,
  foreign key (matched_transaction_id, matched_merchant_id) references transactions,
  constraint suspense_payments_moves_allowed check (suspense_moves_are_allowed(statuses)),
  constraint suspense_payments_history_whole check (cardinality(statuses) = cardinality(status_dates)),
  constraint suspense_payments_surplus_of_one check ((kind = 'surplus') = (transaction_id is not null)),
  constraint suspense_payments_matched_to_one
    check ((status = 'matched') = (matched_transaction_id is not null) and (matched_transaction_id is null) = (matched_merchant_id is null)),
  constraint suspense_payments_return_whole check ((return_id is null) = (return_amount is null) and return_amount > 0),
  constraint suspense_payments_returned_no_more check (taken_amount between 0 and amount),
  constraint suspense_payments_returning_what check (status <> 'returning' or return_id is not null),
  constraint suspense_payments_returned_whole
    check ((status = 'returned') = (taken_amount + case when status = 'returned' then coalesce(return_amount, 0) else 0 end = amount))
);
-- What somebody may have to look at.
create index suspense_payments_open on suspense_payments ((status_dates[1])) where status in ('held', 'returning');
create index suspense_payments_to_check on suspense_payments (status, check_at) where check_at is not null;
create index suspense_payments_of_transaction on suspense_payments (transaction_id) where transaction_id is not null;
create index suspense_payments_matched on suspense_payments (matched_transaction_id) where matched_transaction_id is not null;

-- Not looked at in what is there already: it obeys what was stricter.
alter table ledger_transfers
  drop constraint ledger_transfers_record_type_check,
  add constraint ledger_transfers_record_type_check
    check (record_type in ('transaction', 'refund', 'infraction', 'withdrawal', 'suspense', 'correction')) not valid;

-- A match that was undone is a refund whose money went into suspense, not to the payer.
alter table refunds add column suspense_payment_id uuid;

-- One payment pays one transaction; and another one once its match to the first was undone.
alter table transactions add column match_undone_at timestamptz(3);
drop index transactions_end_to_end;
create unique index transactions_end_to_end on transactions (merchant_id, end_to_end, match_undone_at)
  nulls not distinct where end_to_end is not null;
