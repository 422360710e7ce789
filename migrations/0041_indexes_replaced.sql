-- Why: 0039 and 0040 replace them.
-- Runs with code since 0015.
drop index webhook_deliveries_of_record, ledger_accounts_of_account;
