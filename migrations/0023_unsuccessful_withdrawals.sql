-- Why: a list of withdrawals that did not succeed reads few index entries instead of all withdrawals.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- A withdrawal that succeeds is never in this index, and so writes nothing to it.
create index concurrently withdrawals_unsuccessful on withdrawals (merchant_id, status, created_at desc, id desc)
  where status not in ('PENDING', 'PROCESSING', 'PROCESSED');
