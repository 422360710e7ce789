-- Why: a list of withdrawals that did not succeed reads few entries instead of all.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- A withdrawal that succeeds is never in this index, so it costs no write.
create index concurrently withdrawals_unsuccessful on withdrawals (merchant_id, status, created_at desc, id desc)
  where status not in ('PENDING', 'PROCESSING', 'PROCESSED');
