-- Why: whoever approves a withdrawal sees what was sent to the key before, to this merchant's receivers and to others'.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- A withdrawal enters it when it is sent, not when it is created.
create index concurrently withdrawals_sent_to_key on withdrawals (pix_key, merchant_id, created_at desc) include (amount)
  where status = 'PROCESSED';
