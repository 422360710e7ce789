-- Why: ANALYZE of the growing tables must stay cheap: at 1,000 creates a second it took four seconds of one core every
-- minute, and creates waited for it. It reads 300 rows per unit of the largest statistics target among a table's
-- columns: with a target of 25 it reads 7,500 rows instead of 30,000.
--
-- A later migration that adds a column to one of these tables has to set the column's target; a test checks that.

-- No query searches by these columns.
alter table transactions
  alter column webhook_url set statistics 0,
  alter column customer set statistics 0,
  alter column seller set statistics 0,
  alter column address set statistics 0,
  alter column items set statistics 0,
  alter column metadata set statistics 0,
  alter column pix_uri set statistics 0,
  alter column statuses set statistics 0,
  alter column status_dates set statistics 0,
  alter column payer set statistics 0,
  alter column receiver set statistics 0,
  alter column error_message set statistics 0,
  alter column other_acquirers set statistics 0,
  alter column amount_returned set statistics 0;

do $$
declare
  one record;
begin
  for one in
    select attrelid::regclass as place, attname from pg_attribute
    where attrelid in (
        'transactions'::regclass, 'events'::regclass, 'ledger_transfers'::regclass, 'webhook_deliveries'::regclass, 'webhook_attempts'::regclass)
      and attnum > 0 and not attisdropped and coalesce(attstattarget, -1) = -1
  loop
    execute format('alter table %s alter column %I set statistics 25', one.place, one.attname);
  end loop;
end $$;
