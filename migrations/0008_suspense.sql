-- Why: money without a charge that it can be attributed to: without a txid, with an unknown one, or for a charge that is
-- paid already. It is in suspense until it is sent back or attributed to a transaction (docs/suspense.md).

-- The same transitions as in src/suspense/status.ts; a test keeps them equal.
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
  -- The owner of the suspense account: the operator's own merchant, or the one whose transaction was paid twice.
  merchant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('unattributed', 'duplicate')),
  acquirer text not null,
  end_to_end text not null,
  -- As the acquirer lists it, if it does. Of a duplicate it may be that of the charge that is paid already; of an
  -- unattributed payment it named no charge of ours when the payment arrived.
  txid text,
  amount bigint not null check (amount > 0),
  paid_at timestamptz(3) not null,
  payer json,
  receiver json not null,
  -- Of a duplicate payment: the transaction that was paid already.
  transaction_id uuid,
  -- The transaction that it is attributed to.
  attributed_merchant_id uuid,
  attributed_transaction_id uuid,
  -- Our own return of it, in progress or done, and its id at the acquirer.
  return_id uuid,
  return_amount bigint,
  return_end_to_end text,
  -- What others have returned of it: the acquirer under MED, or a person by hand at the acquirer.
  taken_amount bigint not null default 0,
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  -- Why it was not sent back, or not yet.
  error_message text,
  -- When the service next acts on its own: looks for its transaction, or asks about the outcome of its return.
  check_at timestamptz(3),
  -- When the acquirer was last asked to return it, as in refunds.
  return_requested_at timestamptz(3),
  primary key (merchant_id, id),
  -- One row for each payment, even if the acquirer reports it more than once.
  constraint suspense_payments_once unique (acquirer, end_to_end),
  foreign key (transaction_id, merchant_id) references transactions,
  foreign key (attributed_transaction_id, attributed_merchant_id) references transactions,
  constraint suspense_payments_moves_allowed check (suspense_moves_are_allowed(statuses)),
  constraint suspense_payments_history_whole check (cardinality(statuses) = cardinality(status_dates)),
  constraint suspense_payments_duplicate_of_one check ((kind = 'duplicate') = (transaction_id is not null)),
  constraint suspense_payments_attributed_to_one
    check ((status = 'matched') = (attributed_transaction_id is not null) and (attributed_transaction_id is null) = (attributed_merchant_id is null)),
  constraint suspense_payments_return_whole check ((return_id is null) = (return_amount is null) and return_amount > 0),
  constraint suspense_payments_returned_no_more check (taken_amount between 0 and amount),
  constraint suspense_payments_returning_what check (status <> 'returning' or return_id is not null),
  constraint suspense_payments_returned_whole
    check ((status = 'returned') = (taken_amount + case when status = 'returned' then coalesce(return_amount, 0) else 0 end = amount))
);
-- What a person may have to decide.
create index suspense_payments_open on suspense_payments ((status_dates[1])) where status in ('held', 'returning');
create index suspense_payments_to_check on suspense_payments (status, check_at) where check_at is not null;
create index suspense_payments_of_transaction on suspense_payments (transaction_id) where transaction_id is not null;
create index suspense_payments_attributed on suspense_payments (attributed_transaction_id) where attributed_transaction_id is not null;
-- For the job that deletes personal data after the retention period: the few rows that still have a payer.
create index suspense_payments_with_payer on suspense_payments (paid_at, id) where payer is not null;

-- Disputes of payments without a transaction. Once its payment is attributed, a dispute becomes one of that transaction,
-- so that its money cannot be withdrawn while the dispute is open.
create table unattributed_disputes (
  acquirer text not null,
  -- The acquirer's own identifier of the dispute.
  reference text not null,
  -- Of the payment: it is in suspense, or unknown.
  end_to_end text not null,
  amount bigint not null,
  reason text,
  -- What the acquirer last reported: its own word, and how we read it.
  acquirer_status text,
  acquirer_state text not null
    check (acquirer_state in ('open', 'accepted', 'returned', 'rejected', 'canceled', 'unknown')),
  opened_at timestamptz(3) not null,
  deadline_at timestamptz(3),
  -- When it was last reported as something new.
  changed_at timestamptz(3) not null,
  primary key (acquirer, reference)
);
create index unattributed_disputes_of_payment on unattributed_disputes (acquirer, end_to_end);
create index unattributed_disputes_undecided on unattributed_disputes (acquirer, opened_at)
  where acquirer_state in ('open', 'accepted', 'unknown');

-- Payments in an acquirer's list that name a charge of another cell, which is another installation with a database of
-- its own (docs/scaling.md): the same account is configured in both. They are posted there, and only counted here.
create table other_cell_payments (
  acquirer text not null,
  end_to_end text not null,
  cell text not null,
  txid text not null,
  amount bigint not null,
  paid_at timestamptz(3) not null,
  seen_at timestamptz(3) not null,
  primary key (acquirer, end_to_end)
);
