-- Why: the ledger is compared with the acquirers' own lists: discrepancies (the table differences), proposals,
-- decisions, and days that were closed.
--
-- These tables belong to the service and not to a merchant: a discrepancy may be about money that belongs to no
-- merchant.

create table reconciliation_runs (
  id uuid primary key,
  acquirer text not null,
  -- rolling: every few minutes; daily: one day in Brasília time; manual: started by a person, for any window.
  kind text not null check (kind in ('rolling', 'daily', 'manual')),
  -- The compared window: starts_at is included, ends_at is not.
  starts_at timestamptz(3) not null,
  ends_at timestamptz(3) not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- interrupted: the run ended early, for the reason in error, such as a list that could not be read or a stop of the
  -- service. What it had found is stored, but it resolved no discrepancy.
  state text not null check (state in ('running', 'complete', 'interrupted')),
  error text,
  -- How many entries were compared and how many differ, by class; and the sums of the acquirer's side. Null while the
  -- run is running; there are no sums either if it was interrupted.
  counts json,
  totals json,
  constraint reconciliation_runs_window check (starts_at < ends_at)
);
create index reconciliation_runs_last on reconciliation_runs (acquirer, kind, state, ends_at);

create table differences (
  id uuid primary key,
  acquirer text not null,
  -- The same classes as in src/reconciliation/classes.ts; a test keeps them equal, and docs/reconciliation.md explains
  -- them. unreadable: an entry of the acquirer's list that cannot be read; a person decides about it.
  class text not null check (class in (
    'late', 'missing_in_ledger', 'missing_at_acquirer', 'amount', 'fee', 'duplicate', 'unattributed', 'cut_off', 'return', 'payout', 'unreadable')),
  subject text not null check (subject in ('payment', 'return', 'payout')),
  -- Identifies the entry at the acquirer: an end-to-end id, or for a payout of ours, its id.
  reference text not null,
  -- 1, or 2, 3 … if the same entry differs again after a correction.
  sequence smallint not null default 1,
  -- Null: the money belongs to no merchant.
  merchant_id uuid,
  -- Our record of the money. Null: there is none.
  record_id uuid,
  -- When the money moved, according to the acquirer, or else according to our record.
  at timestamptz(3) not null,
  -- Whether both sides have the entry with the same amount, on different days. No action is necessary then.
  is_timing boolean not null,
  -- The entry at the acquirer and in the ledger. Null: that side does not have it.
  at_acquirer jsonb,
  in_ledger jsonb,
  -- What the service proposes to do about it.
  proposal jsonb not null,
  state text not null check (state in ('open', 'confirmed', 'dismissed', 'resolved')),
  -- The last run that found the discrepancy.
  run_id uuid not null references reconciliation_runs,
  found_at timestamptz(3) not null,
  -- When the discrepancy was confirmed, dismissed or resolved. Null: it is open. decided_by and reason are null too if
  -- a run resolved it.
  decided_at timestamptz(3),
  decided_by text,
  reason text,
  constraint differences_once unique (acquirer, subject, class, reference, sequence)
);
create index differences_open on differences (acquirer, class) where state = 'open';
create index differences_at on differences (acquirer, at);
-- For the earlier corrections of a payment, return or payout that is compared again.
create index differences_corrected on differences (acquirer, subject, reference) where state = 'confirmed';

-- The working table of a running comparison: one row for each payment, for all returns of a payment, and for each
-- payout, with what the acquirer has, what the ledger has, or both. Amounts are in cents. The table is unlogged,
-- because its rows are not needed after the run. A crash empties it: the run notices that by a missing row of subject
-- 'mark'.
create unlogged table reconciliation_pairs (
  run_id uuid not null,
  subject text collate "C" not null,
  -- The end-to-end id of the payment, also for its returns. For a payout: our id without hyphens, or the end-to-end id
  -- if the acquirer's entry has no id of ours.
  key text collate "C" not null,
  -- The transaction or withdrawal that the acquirer's entry names, by an id that it received from us. Null: it names
  -- none.
  named_id uuid,
  -- When the payment arrived that the returns are of. Null for other subjects.
  paid_at timestamptz(3),
  -- The amount at the acquirer, and the part of it that was returned under MED. For returns: the sums over all returns
  -- of the payment.
  acquirer_amount bigint,
  acquirer_med bigint,
  acquirer_at timestamptz(3),
  acquirer_state text,
  acquirer_fee bigint,
  -- Whether the acquirer lists an earlier payment that names the same transaction.
  is_later boolean not null default false,
  -- The ledger's side: the owner, our record, its amounts (under MED, and in refunds in progress), when the money
  -- moved, when it was posted, and the record's status. Null: the ledger does not have it.
  merchant_id uuid,
  record_id uuid,
  ledger_amount bigint,
  ledger_med bigint,
  ledger_processing bigint,
  ledger_at timestamptz(3),
  posted_at timestamptz(3),
  ledger_state text,
  primary key (run_id, subject, key)
);

-- The keys that sign the statements of closed days. A key is never deleted, so that every statement can be verified.
create table statement_keys (
  kid text primary key,
  public_jwk json not null,
  sealed_private_jwk bytea not null,
  created_at timestamptz(3) not null
);

-- The signed statements of closed days, by acquirer, with all versions of each.
create table closed_days (
  acquirer text not null,
  day date not null,
  version integer not null check (version >= 1),
  run_id uuid not null references reconciliation_runs,
  signed_at timestamptz(3) not null,
  -- A compact JWS over canonical JSON.
  statement text not null,
  -- The SHA-256 of the statement, in hex: the next version and the statement of the next day contain it.
  sha256 text not null,
  primary key (acquirer, day, version)
);

-- Rows are only inserted, as in the ledger.
revoke update, delete, truncate on closed_days, statement_keys from current_user;
-- When SECRET_KEY is replaced, the private keys are encrypted again.
grant update (sealed_private_jwk) on statement_keys to current_user;
