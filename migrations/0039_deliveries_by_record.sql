-- Why: this index replaces `webhook_deliveries_of_record` (0041), which begins with the merchant. While the table is
-- small, PostgreSQL may use that index instead of the primary key to check the foreign key of an attempt. Until the
-- table is analyzed, it then reads all deliveries of the merchant for each attempt: 34 µs instead of 4 after the first
-- 900.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
create index concurrently webhook_deliveries_by_record on webhook_deliveries (record_id, merchant_id, sequence);
