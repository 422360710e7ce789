-- Why: tables of many millions of rows. What is too old is deleted by an index, and vacuum comes by what has changed lately, not by a
-- fifth of all that there is (docs/decisions/0008).

-- Attempts are deleted by age. They come in the order of time, so that each goes to the index's last page: 1 to 2 µs of an insert.
create index webhook_attempts_started on webhook_attempts (started_at);
-- Notices are deleted by when they were done with.
create index callback_inbox_finished on callback_inbox (finished_at) where finished_at is not null;

-- Every transaction is written twice or more: born, and paid or expired. Never within its page alone (HOT), since its status stands in an
-- index. Counts and pages read indexes alone where vacuum has been: at ten million rows the defaults let two million pile up before.
alter table transactions set (
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02
);
-- Only added to: vacuumed for the same reason, and frozen while it is fresh in memory.
alter table events set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
alter table ledger_transfers set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- A queue inside a history, as webhook_deliveries is: vacuumed by what moved through it, not by how much has piled up.
alter table callback_inbox set (autovacuum_vacuum_scale_factor = 0.02);
-- Some rows for each merchant, written at each payment: with room in their page the new version stays there and no index is touched.
alter table ledger_accounts set (fillfactor = 50);
