-- Why: the operator's own money. What moves money without a payment, refund or withdrawal is an entry of its own: fees that the operator draws, money
-- that a merchant or the operator pays in, a debt that is written off, what a PSP charges, and what two persons book by hand.

create table operator_entries (
  id uuid primary key,
  type text not null check (type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry')),
  idempotency_key text not null,
  -- Whose accounts it is about; the operator's own merchant where it is nobody else's.
  merchant_id uuid not null,
  -- Whose clearing account it changes. A write-off changes it by nothing in all.
  acquirer text not null,
  amount bigint not null check (amount > 0),
  -- Of a manual entry: its accounts, as the events of docs/ledger.md name them.
  debit text,
  credit text,
  -- What the PSP's list knows the movement by. Null: not seen there yet.
  reference text,
  description text not null,
  created_by text not null,
  -- Of a manual entry: what one person proposed and another approved.
  proposal_id uuid,
  created_at timestamptz(3) not null,
  constraint operator_entries_key unique (idempotency_key),
  constraint operator_entries_manual check ((type = 'manual_entry') = (debit is not null and credit is not null and proposal_id is not null))
);
create index operator_entries_newest on operator_entries (created_at);
-- A movement in a PSP's list is one entry's.
create unique index operator_entries_reference on operator_entries (acquirer, reference) where reference is not null;

alter table ledger_transfers
  drop constraint ledger_transfers_record_type_check,
  add constraint ledger_transfers_record_type_check check (record_type in (
    'transaction', 'refund', 'infraction', 'withdrawal', 'suspense', 'correction',
    'fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry')) not valid;
-- An entry may be in the accounts of many merchants.
create index ledger_transfers_of_entries on ledger_transfers (record_id)
  where record_type in ('fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry');
