-- Why: whoever can write to the database could change the audit log without a trace. Each entry now carries the hash of the one before it, the
-- signed statement of each closed day carries the hash of the newest entry, and the tables refuse changes to their owner as well.

create table audit_chain (
  -- 1, 2, 3 … in the order of commit, without gaps. Ids of entries have gaps: those of transactions that were rolled back.
  position bigint primary key,
  -- Without a foreign key: to look for the entry, PostgreSQL would need the right to lock it, which the owner has given up.
  entry_id bigint not null unique,
  hash bytea not null
);

-- src/audit/verify.ts computes the same: a verifier does not rely on what is in the database.
create function audit_entry_hash(former bytea, entry audit_log) returns bytea language sql stable return sha256(
  former
  || sha256(convert_to(entry.id::text, 'UTF8'))
  || sha256(convert_to((extract(epoch from entry.at) * 1000)::bigint::text, 'UTF8'))
  || sha256(convert_to(entry.actor, 'UTF8'))
  || sha256(convert_to(entry.action, 'UTF8'))
  || sha256(convert_to(coalesce(entry.merchant_id::text, ''), 'UTF8'))
  || sha256(convert_to(coalesce(entry.record_id::text, ''), 'UTF8'))
  || sha256(convert_to(coalesce(entry.details::text, ''), 'UTF8'))
);

create function chain_audit_entry() returns trigger language plpgsql as $$
declare
  former audit_chain;
begin
  -- Until this commit is done nobody else appends.
  perform pg_advisory_xact_lock(hashtextextended('audit chain', 0));
  select * into former from audit_chain order by position desc limit 1;
  insert into audit_chain (position, entry_id, hash)
  values (coalesce(former.position, 0) + 1, new.id, audit_entry_hash(coalesce(former.hash, ''), new));
  return null;
end $$;

-- Deferred: it runs at the commit, when the transaction takes no further lock. So operations wait for each other only while one commits,
-- in no order that could make a deadlock.
create constraint trigger audit_log_chained after insert on audit_log
  deferrable initially deferred for each row execute function chain_audit_entry();

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only ever added to' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_is_kept before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();
create trigger audit_chain_is_kept before update or delete or truncate on audit_chain
  for each statement execute function refuse_audit_change();
revoke update, delete, truncate on audit_chain from current_user;

-- The entries from before, in their order.
do $$
declare
  entry audit_log;
  former bytea := '';
  place bigint := 0;
begin
  for entry in select * from audit_log order by id loop
    place := place + 1;
    former := audit_entry_hash(former, entry);
    insert into audit_chain (position, entry_id, hash) values (place, entry.id, former);
  end loop;
end $$;
