-- Why: withdrawals are found by the id of a return, also by that of an earlier one of several parts (0032).
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- Only withdrawals that were sent back in parts are in it; the others cost no write.
create index concurrently withdrawals_earlier_end_to_end_refunds on withdrawals using gin (earlier_end_to_end_refunds)
  where earlier_end_to_end_refunds is not null;
