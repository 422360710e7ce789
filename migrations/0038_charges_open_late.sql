-- Why: charges that are still checked an hour after they expired are counted for an alert.
-- Compatible with code from migration 0015 on.
-- Outside a transaction.
-- Other charges are never in this index, because the first check of an expired charge is five minutes after its expiry.
create index concurrently transactions_open_late on transactions (check_at)
  where check_at - pix_expires_at > interval '1 hour'
    or (pix_expires_at is null and check_at - created_at > make_interval(secs => pix_expiration_seconds) + interval '1 hour');
