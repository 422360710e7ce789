-- Why: likewise, for a posting PostgreSQL reads the account of every merchant through `ledger_accounts_of_account`.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
create index concurrently ledger_accounts_by_account on ledger_accounts (account text_pattern_ops, merchant_id);
