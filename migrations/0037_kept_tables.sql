-- Why: an owner can grant itself a revoked right again, and a superuser needs no right. So these tables refuse changes
-- by everybody, as the audit log does. The triggers fire once per statement and not on inserts, which cost nothing
-- more.
-- Compatible with code from migration 0015 on.
-- Contracts: no version changes these rows.

create function refuse_kept_change() returns trigger language plpgsql as $$
begin
  raise exception '% is only ever added to', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger ledger_transfers_are_kept before update or delete or truncate on ledger_transfers
  for each statement execute function refuse_kept_change();
create trigger closed_days_are_kept before update or delete or truncate on closed_days
  for each statement execute function refuse_kept_change();
-- sealed_private_jwk may change: it is encrypted again when SECRET_KEY is replaced.
create trigger statement_keys_are_kept before update of kid, public_jwk, created_at or delete or truncate on statement_keys
  for each statement execute function refuse_kept_change();
