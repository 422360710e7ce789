-- Why: every cent is accounted for. The ledger, fees, the operator's own entries, and the freeze of payouts.

-- A merchant's accounts. A balance is credits minus debits: what the merchant has is positive, what an acquirer holds for
-- it is negative, and all of a merchant's balances add up to zero. docs/ledger.md has the chart and the transfers of each
-- event. There is a clearing account per acquirer, `acquirer:<name>`: the sum over all merchants is compared with the
-- balance at the PSP, and money leaves only through a PSP that has it.
create table ledger_accounts (
  merchant_id uuid not null,
  account text not null
    check (account in ('available', 'reserved', 'blocked', 'fees', 'suspense', 'debt') or account like 'acquirer:_%'),
  balance bigint not null default 0,
  primary key (merchant_id, account),
  constraint ledger_no_overdraft check (balance >= 0 or account = 'debt' or account like 'acquirer:%'),
  -- What a merchant owes is below zero; it cannot owe less than nothing.
  constraint ledger_debt_is_owed check (account <> 'debt' or balance <= 0)
) with (
  -- A few rows for each merchant, written at each payment: with room in their page the new version stays there, and no
  -- index is touched.
  fillfactor = 50
);
-- What an acquirer holds of all merchants. Without the balance, so that a posting still changes no index.
create index ledger_accounts_of_account on ledger_accounts (account text_pattern_ops);

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
  record_type text not null check (record_type in (
    'transaction', 'refund', 'infraction', 'withdrawal', 'suspense', 'correction',
    'fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry', 'move_out', 'move_in')),
  record_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (merchant_id, id),
  constraint ledger_posted_once unique (merchant_id, event_key, position),
  constraint ledger_amount_positive check (amount > 0),
  constraint ledger_two_accounts check (debit <> credit)
) with (
  -- As events.
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.5
);
create index ledger_transfers_of_record on ledger_transfers (merchant_id, record_id);
-- A statement is counted and paged by these alone, whatever its filters: 15 ms for 118,000 entries.
create index ledger_transfers_of_debit on ledger_transfers (merchant_id, debit, id) include (kind, created_at);
create index ledger_transfers_of_credit on ledger_transfers (merchant_id, credit, id) include (kind, created_at);
-- An entry may be in the accounts of many merchants.
create index ledger_transfers_of_entries on ledger_transfers (record_id)
  where record_type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry', 'move_out', 'move_in');
-- Only added to, so a page of the coarsest index is enough for thousands of rows.
create index ledger_transfers_created on ledger_transfers using brin (created_at) with (pages_per_range = 32, autosummarize = on);

-- Fees are rules per client and operation. A rule counts for events from its moment on; earlier events keep theirs.
create table fee_rules (
  merchant_id uuid not null,
  operation text not null check (operation in ('transaction', 'refund', 'withdrawal')),
  valid_from timestamptz(3) not null,
  fixed bigint not null default 0 check (fixed >= 0),
  basis_points integer not null default 0 check (basis_points between 0 and 10000),
  minimum bigint not null default 0 check (minimum >= 0),
  maximum bigint check (maximum >= minimum),
  -- The payment's fee is returned with a refund: a merchant whose only sale was paid less a fee can refund it whole.
  returns_payment_fee boolean not null default false,
  primary key (merchant_id, operation, valid_from),
  constraint fee_rules_returns_payment_fee check (not returns_payment_fee or operation = 'refund')
);

-- What moves money without a payment, refund or withdrawal: fees that the operator draws, money that a merchant or the
-- operator pays in, a debt that is written off, what a PSP charges, and what two persons enter by hand.
create table operator_entries (
  id uuid primary key,
  type text not null check (type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry', 'move_out', 'move_in')),
  idempotency_key text not null,
  -- The owner of the accounts; the operator's own merchant if there is no other.
  merchant_id uuid not null,
  -- The acquirer of the clearing account that changes. A write-off changes it by nothing in all.
  acquirer text not null,
  amount bigint not null check (amount > 0),
  -- The accounts of a manual entry, as the events of docs/ledger.md name them.
  debit text,
  credit text,
  -- By which the PSP's list knows the movement. Null: not found there yet.
  reference text,
  description text not null,
  created_by text not null,
  -- Of a manual entry: what one person proposed and another approved.
  proposal_id uuid,
  created_at timestamptz(3) not null,
  constraint operator_entries_key unique (idempotency_key),
  constraint operator_entries_manual check ((type = 'manual_entry') = (debit is not null and credit is not null and proposal_id is not null)),
  -- One person proposes the move of a balance to another cell, another approves it: in each of the two cells.
  constraint operator_entries_move check (type not in ('move_out', 'move_in') or proposal_id is not null)
);
create index operator_entries_newest on operator_entries (created_at);
-- A movement in a PSP's list belongs to one entry.
create unique index operator_entries_reference on operator_entries (acquirer, reference) where reference is not null;

-- Withdrawals and refunds stop while a freeze is not released. Incoming money is never stopped.
create table payout_freezes (
  id uuid primary key,
  reason text not null,
  engaged_at timestamptz(3) not null,
  released_at timestamptz(3),
  released_by text
);
create unique index payout_freezes_one_active on payout_freezes ((true)) where released_at is null;

-- One row, whose counter grows in each second in which something is written. A process that remembers a higher one has
-- proof that commits were lost: an older copy was restored, or a standby took over that had not received everything.
create table database_mark (
  only_one boolean primary key default true check (only_one),
  -- A restored copy has the same.
  database_id uuid not null default gen_random_uuid(),
  counter bigint not null default 0,
  -- The transaction that set the counter: if no other one came after it, nothing has been written since.
  xid bigint not null default 0,
  marked_at timestamptz(3) not null default now()
);
insert into database_mark default values;

-- PostgreSQL begins a new timeline when a standby becomes the primary, and gives the numbers of lost transactions to new
-- ones. A service that acknowledged a number from `first_xid` on before the timeline began has lost that transaction.
create table database_timelines (
  -- The cluster: a dump that is loaded into another one takes the rows along.
  system_identifier text,
  timeline integer,
  -- Of the service that saw the timeline first, before it wrote anything else.
  first_xid bigint not null,
  loss_found_at timestamptz(3),
  primary key (system_identifier, timeline)
);

-- The service's own role may add to it and read it, nothing else. An owner can give up its own rights.
revoke update, delete, truncate on ledger_transfers from current_user;
