-- Why: this index replaces `ledger_accounts_of_account` (0041). While the table is small, PostgreSQL may use that index
-- for a posting, and then reads the account of every merchant (0039 describes the same problem).
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
create index concurrently ledger_accounts_by_account on ledger_accounts (account text_pattern_ops, merchant_id);
