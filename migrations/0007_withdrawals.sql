-- Why: a merchant's money is paid out to its Pix key, within its limits.

-- The same transitions as in src/withdrawals/status.ts; a test keeps them equal.
create function withdrawal_moves_are_allowed(statuses text[]) returns boolean
  language sql immutable parallel safe
  return statuses[1] = 'PENDING' and not exists (
    select from generate_subscripts(statuses, 1) i
    where i > 1 and statuses[i - 1] || '>' || statuses[i] <> all (array[
      'PENDING>PROCESSING', 'PENDING>CANCELED', 'PENDING>REJECTED',
      'PROCESSING>PROCESSED', 'PROCESSING>FAILED',
      'PROCESSED>REFUNDED'
    ])
  );

create table withdrawals (
  id uuid not null,
  merchant_id uuid not null,
  acquirer text not null,
  amount bigint not null,
  webhook_url text,
  external_code text,
  -- The receiver's Pix key; a keyed hash of it after an erasure.
  pix_key text not null,
  pix_key_type text not null check (pix_key_type in ('CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP')),
  created_at timestamptz(3) not null,
  -- All statuses in order, and when each began. The last one is the current status.
  statuses text[] not null,
  status_dates timestamptz(3)[] not null,
  status text not null generated always as (statuses[cardinality(statuses)]) stored,
  amount_withdrawn bigint,
  processed_date timestamptz(3),
  error_message text,
  -- The end-to-end ids of the payout and of its return, with which banks identify them. Null: not known, or none.
  end_to_end text,
  end_to_end_refund text,
  payer json,
  receiver json,
  fee_amount bigint not null default 0,
  idempotency_key text,
  metadata json,
  -- Why the withdrawal is pending review. approval: the operator has to approve it; duplicate: it looks like an earlier
  -- withdrawal, and the merchant has to confirm it. Null: it is not pending review.
  review_reason text check (review_reason in ('approval', 'duplicate')),
  -- When the service next sends the withdrawal or queries the acquirer about it. Null: no check is planned.
  check_at timestamptz(3),
  -- The review reason at creation. With it, a repeated request gets the same answer byte for byte, even after the
  -- review.
  initial_review_reason text check (initial_review_reason in ('approval', 'duplicate')),
  -- Who requested the withdrawal and so may not approve it, as the audit log names people, such as
  -- user:maria@example.com. Null: an API client of the merchant.
  requested_by text,
  -- When the request to send the payout was last repeated. Null: it was not repeated; the date of the status PROCESSING
  -- is then the time of the only request.
  requested_at timestamptz(3),
  -- The acquirer's own id of the payout. Null: the PSP gives none, or it is not known yet. It is stored before money
  -- can move or as soon as it is known, so that the payout is found after a lost answer and is not made twice.
  acquirer_reference text,
  -- When personal data of this withdrawal was erased. Null: never.
  erased_at timestamptz(3),
  primary key (id, merchant_id),
  constraint withdrawals_amount_in_range check (amount between 10 and 10000000),
  constraint withdrawals_moves_allowed check (withdrawal_moves_are_allowed(statuses)),
  constraint withdrawals_history_whole check (cardinality(statuses) = cardinality(status_dates))
);
create unique index withdrawals_idempotency_key on withdrawals (merchant_id, idempotency_key) where idempotency_key is not null;
create unique index withdrawals_acquirer_reference on withdrawals (acquirer, acquirer_reference)
  where acquirer_reference is not null;
create index withdrawals_newest on withdrawals (merchant_id, created_at desc, id desc) include (status, amount);
create index withdrawals_to_check on withdrawals (check_at) where check_at is not null;
create index withdrawals_alike on withdrawals (merchant_id, pix_key, amount, created_at desc);
create index withdrawals_pending_review on withdrawals (created_at) where review_reason is not null;
-- For the sum that an acquirer has still to send.
create index withdrawals_open on withdrawals (acquirer) include (amount) where status in ('PENDING', 'PROCESSING');
-- For the filters of lists: 0.6 ms among 100,000 withdrawals of one merchant, instead of 22 to 50 ms.
create index withdrawals_external_code on withdrawals (merchant_id, external_code, created_at desc) where external_code is not null;
create index withdrawals_end_to_end on withdrawals (merchant_id, end_to_end) where end_to_end is not null;
create index withdrawals_end_to_end_refund on withdrawals (merchant_id, end_to_end_refund) where end_to_end_refund is not null;
-- For reconciliation.
create index withdrawals_processed on withdrawals (processed_date) where processed_date is not null;
create index withdrawals_created on withdrawals (created_at);

-- What a merchant may withdraw, in cents. Null: no limit. A merchant without a row has the defaults of
-- src/withdrawals/limits.ts.
create table withdrawal_limits (
  merchant_id uuid primary key,
  per_withdrawal bigint check (per_withdrawal > 0),
  -- Per day from 06:00 to 20:00, and per night from 20:00 to 06:00 of the next date, in São Paulo.
  per_day bigint check (per_day > 0),
  per_night bigint check (per_night > 0),
  -- Above this amount the operator has to approve a withdrawal.
  approval_above bigint check (approval_above >= 0),
  -- For how long a withdrawal of the same amount to the same key counts as a duplicate. 0: there is no such check.
  duplicate_window_seconds integer not null default 600 check (duplicate_window_seconds >= 0),
  -- Above this amount, a withdrawal that the operator's staff request, or may have requested, needs a second person.
  operator_approval_above bigint default 0 check (operator_approval_above >= 0)
);
