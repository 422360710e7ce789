-- Why: the retention of personal data reached transactions only. It now goes through each merchant's withdrawals and through payments that are or
-- were in suspense as well (docs/privacy.md).

-- A merchant has one cursor for its transactions and one for its withdrawals.
alter table personal_data_cursors
  add column record_type text not null default 'transaction' check (record_type in ('transaction', 'withdrawal')),
  drop constraint personal_data_cursors_pkey,
  add primary key (merchant_id, record_type);
alter table personal_data_cursors alter column record_type drop default;

-- The few payments in suspense need no cursor: those that still name a payer are found here.
create index suspense_payments_with_payer on suspense_payments (paid_at, id) where payer is not null;
