-- Why: the indexes of 0039 and 0040 replace these two.
-- Compatible with code from migration 0015 on.
drop index webhook_deliveries_of_record, ledger_accounts_of_account;
