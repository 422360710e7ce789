-- Why: a withdrawal that was sent back in parts is also found by the end-to-end id of an earlier part (0032).
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- Only withdrawals that were sent back in parts are in this index; the others write nothing to it.
create index concurrently withdrawals_earlier_end_to_end_refunds on withdrawals using gin (earlier_end_to_end_refunds)
  where earlier_end_to_end_refunds is not null;
