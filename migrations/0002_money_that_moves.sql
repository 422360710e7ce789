-- Why: every cent accounted for. A ledger under what was there, and all that moves money out of a merchant's balance:
-- fees, refunds, MED and withdrawals.

-- A merchant's accounts. A balance is credits minus debits: what the merchant has is positive, what the acquirer holds for it is
-- negative, and all of a merchant's balances add up to zero. docs/ledger.md has the chart and the transfers of each event.
create table ledger_accounts (
  merchant_id uuid not null,
  account text not null
    check (account in ('available', 'reserved', 'blocked', 'fees', 'acquirer', 'suspense', 'debt')),
  balance bigint not null default 0,
  primary key (merchant_id, account),
  constraint ledger_no_overdraft check (balance >= 0 or account in ('acquirer', 'debt')),
  -- What a merchant owes is below zero; it cannot owe less than nothing.
  constraint ledger_debt_is_owed check (account <> 'debt' or balance <= 0)
);

-- One debit, one credit, one amount: balanced by construction. Only ever added to: corrections are more transfers.
create table ledger_transfers (
  merchant_id uuid not null,
  -- In the order of posting, for each account: it is drawn while the account is locked.
  id bigint not null generated always as identity,
  -- The business event, such as transaction:<id>:paid. It is posted once.
  event_key text not null,
  position smallint not null,
  kind text not null,
  debit text not null,
  credit text not null,
  amount bigint not null,
  -- The balances of both accounts after this transfer: a running balance, and a past one, without adding up.
  debit_balance bigint not null,
  credit_balance bigint not null,
  record_type text not null check (record_type in ('transaction', 'refund', 'infraction', 'withdrawal', 'correction')),
  record_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (merchant_id, id),
  constraint ledger_posted_once unique (merchant_id, event_key, position),
  constraint ledger_amount_positive check (amount > 0),
  constraint ledger_two_accounts check (debit <> credit)
);
create index ledger_transfers_of_record on ledger_transfers (merchant_id, record_id);
create index ledger_transfers_of_debit on ledger_transfers (merchant_id, debit, id);
create index ledger_transfers_of_credit on ledger_transfers (merchant_id, credit, id);

-- Fees are rules per client and operation. A rule counts for events from its moment on; earlier events keep theirs.
create table fee_rules (
  merchant_id uuid not null,
  operation text not null check (operation in ('transaction', 'refund', 'withdrawal')),
  valid_from timestamptz(3) not null,
  fixed bigint not null default 0 check (fixed >= 0),
  basis_points integer not null default 0 check (basis_points between 0 and 10000),
  minimum bigint not null default 0 check (minimum >= 0),
  maximum bigint check (maximum >= minimum),
  primary key (merchant_id, operation, valid_from)
);

alter table refunds
  add column idempotency_key text,
  add column fee_amount bigint not null default 0,
  add column error_message text,
  add column finished_at timestamptz(3),
  -- When the service next asks the acquirer of its own accord; null when nothing is open.
  add column check_at timestamptz(3),
  add constraint refunds_idempotency_key unique (merchant_id, idempotency_key);
-- One refund of a transaction runs at a time.
create unique index refunds_one_at_a_time on refunds (merchant_id, transaction_id) where status = 'PROCESSING';
create index refunds_to_check on refunds (check_at) where check_at is not null;

-- A MED: a payer's bank contests a payment.
create table infractions (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  -- The acquirer's own identifier; null when the operator entered it.
  acquirer_reference text,
  amount bigint not null check (amount > 0),
  reason text,
  -- open: blocked; accepted: to be returned; returned: the money is gone; rejected, canceled: released.
  state text not null check (state in ('open', 'accepted', 'returned', 'rejected', 'canceled')),
  opened_at timestamptz(3) not null,
  decided_at timestamptz(3),
  finished_at timestamptz(3),
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions
);
create unique index infractions_acquirer_reference on infractions (merchant_id, acquirer_reference) where acquirer_reference is not null;
-- A transaction has one contest at a time.
create unique index infractions_one_at_a_time on infractions (merchant_id, transaction_id) where state in ('open', 'accepted');

alter table withdrawals
  add column idempotency_key text,
  add column metadata json,
  -- Why it waits for somebody: approval (the operator's, above the threshold) or duplicate (looks like one of before).
  add column hold text check (hold in ('approval', 'duplicate')),
  add column check_at timestamptz(3),
  alter column fee_amount set default 0;
create unique index withdrawals_idempotency_key on withdrawals (merchant_id, idempotency_key) where idempotency_key is not null;
create index withdrawals_to_check on withdrawals (check_at) where check_at is not null;
create index withdrawals_alike on withdrawals (merchant_id, pix_key, amount, created_at desc);

-- What a client may withdraw; a client without a row has the service's defaults.
create table withdrawal_limits (
  merchant_id uuid primary key,
  per_withdrawal bigint check (per_withdrawal > 0),
  per_day bigint check (per_day > 0),
  per_night bigint check (per_night > 0),
  approval_above bigint check (approval_above >= 0),
  duplicate_window_seconds integer not null default 600 check (duplicate_window_seconds >= 0)
);

-- Withdrawals and refunds stop while a brake is not released. Money that comes in never does.
create table brakes (
  id uuid primary key,
  reason text not null,
  engaged_at timestamptz(3) not null,
  released_at timestamptz(3),
  released_by text
);
create unique index brakes_one_engaged on brakes ((true)) where released_at is null;

-- Who did what, outside of the API: only ever added to.
create table audit_log (
  id bigint primary key generated always as identity,
  at timestamptz(3) not null,
  actor text not null,
  action text not null,
  merchant_id uuid,
  record_id uuid,
  details json
);
create index audit_log_of_record on audit_log (record_id);

-- The service's own role may add to these and read them, nothing else. An owner can give up its own rights.
revoke update, delete, truncate on ledger_transfers, audit_log from current_user;
