-- Why: money without a charge that it can be attributed to: without a txid, with an unknown one, or for a charge that
-- is paid already. It is in suspense until it is sent back or attributed to a transaction (docs/suspense.md).

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
  -- The txid that the acquirer reports with the payment. Null: none. For a duplicate it may be the txid of the charge
  -- that was paid already. For an unattributed payment it named no charge of ours when the payment arrived.
  txid text,
  amount bigint not null check (amount > 0),
  paid_at timestamptz(3) not null,
  payer json,
  receiver json not null,
  -- The transaction that was paid already. Null for an unattributed payment.
  transaction_id uuid,
  -- The transaction that the payment is attributed to. Null: none.
  attributed_merchant_id uuid,
  attributed_transaction_id uuid,
  -- Our return of the payment, in progress or done: its id, which the acquirer gets from us, its amount in cents and
  -- its end-to-end id. Null: there is none.
  return_id uuid,
  return_amount bigint,
  return_end_to_end text,
  -- How much of the payment others have returned, in cents: the acquirer under MED, or a person by hand at the
  -- acquirer.
  taken_amount bigint not null default 0,
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  -- Why the payment was not sent back, or not yet. Null: no attempt failed.
  error_message text,
  -- When the service next checks the payment: it searches for the transaction to attribute it to, or sends the return
  -- or queries its outcome. Null: no check is planned.
  check_at timestamptz(3),
  -- When the acquirer was last requested to return the payment, as requested_at in refunds. Null: never.
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
-- For the list of payments that a person may have to decide about.
create index suspense_payments_open on suspense_payments ((status_dates[1])) where status in ('held', 'returning');
create index suspense_payments_to_check on suspense_payments (status, check_at) where check_at is not null;
create index suspense_payments_of_transaction on suspense_payments (transaction_id) where transaction_id is not null;
create index suspense_payments_attributed on suspense_payments (attributed_transaction_id) where attributed_transaction_id is not null;
-- For the job that erases personal data after the retention period: it has the few rows that still have a payer.
create index suspense_payments_with_payer on suspense_payments (paid_at, id) where payer is not null;

-- Disputes of payments without a transaction. When the payment is attributed, its disputes move to the table disputes,
-- so that the money cannot be withdrawn while a dispute is open.
create table unattributed_disputes (
  acquirer text not null,
  -- The acquirer's own identifier of the dispute.
  reference text not null,
  -- The end-to-end id of the disputed payment, which is in suspense or unknown to us.
  end_to_end text not null,
  amount bigint not null,
  reason text,
  -- The status that the acquirer last reported, in its own word, and the state that we read it as.
  acquirer_status text,
  acquirer_state text not null
    check (acquirer_state in ('open', 'accepted', 'returned', 'rejected', 'canceled', 'unknown')),
  opened_at timestamptz(3) not null,
  deadline_at timestamptz(3),
  -- When the acquirer last reported a new amount, status or deadline.
  changed_at timestamptz(3) not null,
  primary key (acquirer, reference)
);
create index unattributed_disputes_of_payment on unattributed_disputes (acquirer, end_to_end);
create index unattributed_disputes_undecided on unattributed_disputes (acquirer, opened_at)
  where acquirer_state in ('open', 'accepted', 'unknown');

-- Payments in an acquirer's list that name a charge of another cell, which is another installation with its own
-- database (docs/scaling.md), because both cells use the same account at the PSP. The other cell posts them; here they
-- are only counted.
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
