-- Why: the database may have lost the acquirer's reference of a withdrawal, and an acquirer may never show the code of
-- a charge that was paid.
-- Compatible with code from migration 0015 on.
-- Contracts: the new constraint allows all that the former one did.

-- When the service noticed that the database had lost commits, while the withdrawal was PROCESSING without an
-- acquirer's reference: the payout may have been sent with a reference that was lost. Null: this has not happened.
alter table withdrawals add column commits_lost_at timestamptz(3);

-- pix_uri stays null if the charge was paid before its code was known and the acquirer does not show the code. Existing
-- rows meet the former constraint and so the new one, which therefore needs no validation.
alter table transactions drop constraint transactions_code_with_status,
  add constraint transactions_code_with_status check (status in ('PENDING', 'FAILED') or pix_expires_at is not null) not valid;
