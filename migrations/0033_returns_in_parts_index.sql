-- Why: the lists' filter by the id of a return finds earlier parts as well (0032).
-- Runs with code since 0015.
-- Outside a transaction.
-- A withdrawal that is not sent back in parts never writes to it.
create index concurrently withdrawals_earlier_end_to_end_refunds on withdrawals using gin (earlier_end_to_end_refunds)
  where earlier_end_to_end_refunds is not null;
