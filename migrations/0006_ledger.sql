-- Why: every cent is accounted for. The ledger, fees, the operator's own entries, and the freeze of payouts.

-- The accounts of merchants, with balances in cents. A balance is credits minus debits: the merchant's own money is
-- positive, the money that an acquirer holds for the merchant is negative, and all balances of a merchant add up to
-- zero. docs/ledger.md has the chart of accounts and the transfers of each event. Each acquirer has a clearing account,
-- `acquirer:<name>`. The sum of the clearing accounts of all merchants is compared with the balance at the PSP, and
-- money is sent only through a PSP that has it.
create table ledger_accounts (
  merchant_id uuid not null,
  account text not null
    check (account in ('available', 'reserved', 'blocked', 'fees', 'suspense', 'debt') or account like 'acquirer:_%'),
  balance bigint not null default 0,
  primary key (merchant_id, account),
  constraint ledger_no_overdraft check (balance >= 0 or account = 'debt' or account like 'acquirer:%'),
  -- A debt is a negative balance. A positive one has no meaning.
  constraint ledger_debt_is_owed check (account <> 'debt' or balance <= 0)
) with (
  -- Each merchant has a few rows, which every payment updates. With free space in the page, the new row version stays
  -- there and no index is written (HOT).
  fillfactor = 50
);
-- For the sum of an acquirer's clearing accounts over all merchants. The balance is not in the index, so that a posting
-- still writes no index.
create index ledger_accounts_of_account on ledger_accounts (account text_pattern_ops);

-- Each transfer debits one account and credits another by the same amount, so the ledger is always balanced. Rows are
-- only inserted: a correction is another transfer. Amounts and balances are in cents.
create table ledger_transfers (
  merchant_id uuid not null,
  -- Within an account, ids are in the order of posting, because an id is drawn while the account is locked.
  id bigint not null generated always as identity,
  -- The business event, such as transaction:<id>:paid. An event is posted once; position numbers its transfers.
  event_key text not null,
  position smallint not null,
  kind text not null,
  debit text not null,
  credit text not null,
  amount bigint not null,
  -- The balances of both accounts after this transfer, so that a current or past balance is read without adding up.
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
  -- Rows are only inserted, as in events.
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.5
);
create index ledger_transfers_of_record on ledger_transfers (merchant_id, record_id);
-- Statements of accounts are counted and paged with these two indexes alone, whatever the filters: 15 ms for 118,000
-- entries.
create index ledger_transfers_of_debit on ledger_transfers (merchant_id, debit, id) include (kind, created_at);
create index ledger_transfers_of_credit on ledger_transfers (merchant_id, credit, id) include (kind, created_at);
-- For the transfers of an operator's entry, which may be in the accounts of many merchants.
create index ledger_transfers_of_entries on ledger_transfers (record_id)
  where record_type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry', 'move_out', 'move_in');
-- Rows are inserted in the order of time, so a small BRIN index is enough.
create index ledger_transfers_created on ledger_transfers using brin (created_at) with (pages_per_range = 32, autosummarize = on);

-- The fee rules of each merchant by operation. A rule applies from valid_from until the next one; fees of earlier
-- events do not change. The fee is fixed plus basis_points of the amount, at least minimum and at most maximum, in
-- cents.
create table fee_rules (
  merchant_id uuid not null,
  operation text not null check (operation in ('transaction', 'refund', 'withdrawal')),
  valid_from timestamptz(3) not null,
  fixed bigint not null default 0 check (fixed >= 0),
  basis_points integer not null default 0 check (basis_points between 0 and 10000),
  minimum bigint not null default 0 check (minimum >= 0),
  maximum bigint check (maximum >= minimum),
  -- Whether a refund also returns the payment's fee. A merchant whose only payment was credited less its fee can then
  -- still refund the whole payment.
  returns_payment_fee boolean not null default false,
  primary key (merchant_id, operation, valid_from),
  constraint fee_rules_returns_payment_fee check (not returns_payment_fee or operation = 'refund')
);

-- The operator's entries: movements of money that are no payment, refund or withdrawal. fee_draw: the operator
-- withdraws fees; pay_in: a merchant or the operator pays money in; write_off: a debt is written off; psp_fee: a PSP
-- charged a fee; manual_entry: two persons entered a transfer; move_out, move_in: a balance moves to or from another
-- cell.
create table operator_entries (
  id uuid primary key,
  type text not null check (type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry', 'move_out', 'move_in')),
  idempotency_key text not null,
  -- The owner of the accounts. It is the operator's own merchant if the entry concerns no merchant.
  merchant_id uuid not null,
  -- The acquirer whose clearing accounts change. The changes of a write-off add up to zero.
  acquirer text not null,
  amount bigint not null check (amount > 0),
  -- The debited and the credited account of a manual entry, as docs/ledger.md names them. Null for all other types.
  debit text,
  credit text,
  -- Identifies the movement in the PSP's list. Null: it is not known, or not found there yet.
  reference text,
  description text not null,
  created_by text not null,
  -- The proposal that a second person approved. Null: the entry needed no second person.
  proposal_id uuid,
  created_at timestamptz(3) not null,
  constraint operator_entries_key unique (idempotency_key),
  constraint operator_entries_manual check ((type = 'manual_entry') = (debit is not null and credit is not null and proposal_id is not null)),
  -- A move of a balance between cells is proposed by one person and approved by another, in each of the two cells.
  constraint operator_entries_move check (type not in ('move_out', 'move_in') or proposal_id is not null)
);
create index operator_entries_newest on operator_entries (created_at);
-- A movement in a PSP's list belongs to one entry only.
create unique index operator_entries_reference on operator_entries (acquirer, reference) where reference is not null;

-- Payout freezes. While one is not released, withdrawals, refunds and returns from suspense wait. Incoming payments are
-- not affected.
create table payout_freezes (
  id uuid primary key,
  reason text not null,
  engaged_at timestamptz(3) not null,
  released_at timestamptz(3),
  released_by text
);
create unique index payout_freezes_one_active on payout_freezes ((true)) where released_at is null;

-- One row. Its counter grows in each second in which something is written. If a process remembers a higher counter,
-- commits were lost: an older copy was restored, or a standby that had not received everything became the primary.
create table database_mark (
  only_one boolean primary key default true check (only_one),
  -- Identifies the database. A restored copy has the same id.
  database_id uuid not null default gen_random_uuid(),
  counter bigint not null default 0,
  -- The PostgreSQL transaction that set the counter. If none followed, nothing has been written since.
  xid bigint not null default 0,
  marked_at timestamptz(3) not null default now()
);
insert into database_mark default values;

-- When a standby becomes the primary, PostgreSQL begins a new timeline and uses the numbers of lost transactions again.
-- If a process remembers, from an earlier timeline, a committed transaction with a number of `first_xid` or higher,
-- that transaction was lost.
create table database_timelines (
  -- Identifies the PostgreSQL cluster: a dump that is loaded into another cluster brings these rows along.
  system_identifier text,
  timeline integer,
  -- The number of the first transaction that a service wrote on this timeline.
  first_xid bigint not null,
  -- When a loss of commits was reported on this timeline. Null: never.
  loss_found_at timestamptz(3),
  primary key (system_identifier, timeline)
);

-- The service's own role may only insert and read transfers. It owns the table, and an owner can revoke its own rights.
revoke update, delete, truncate on ledger_transfers from current_user;
