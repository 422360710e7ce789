-- Why: a list of withdrawals that did not succeed reads few entries instead of all.
-- Runs with code since 0015.
-- Outside a transaction.
-- A withdrawal that is created, sent and processed never writes to it.
create index concurrently withdrawals_unsuccessful on withdrawals (merchant_id, status, created_at desc, id desc)
  where status not in ('PENDING', 'PROCESSING', 'PROCESSED');
