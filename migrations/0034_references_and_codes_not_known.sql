-- Why: the database may have lost the acquirer's reference of a withdrawal, and an acquirer may never show the code of a
-- charge that was paid.
-- Compatible with code from migration 0015 on.
-- Contracts: the new constraint allows all that the former one did.

-- When the database lost commits while it was PROCESSING without a reference. Null for nearly all.
alter table withdrawals add column commits_lost_at timestamptz(3);

-- The code stays null if the charge was paid before it was known, and the acquirer does not show it. Rows that exist fit
-- the former constraint, and so this one: it needs no validation.
alter table transactions drop constraint transactions_code_with_status,
  add constraint transactions_code_with_status check (status in ('PENDING', 'FAILED') or pix_expires_at is not null) not valid;
