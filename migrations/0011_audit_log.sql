-- Why: who did what, outside of the API. Each entry carries the hash of the one before it, and the signed statement of
-- each closed day carries the hash of the newest entry: a change in the database leaves a trace.

create table audit_log (
  id bigint primary key generated always as identity,
  at timestamptz(3) not null,
  actor text not null,
  action text not null,
  merchant_id uuid,
  record_id uuid,
  details json
);
create index audit_log_of_record on audit_log (record_id);

create table audit_chain (
  -- 1, 2, 3 … in the order of commit, without gaps. Ids of entries have gaps: those of transactions that were rolled back.
  position bigint primary key,
  -- Without a foreign key: to check it, PostgreSQL would need the right to lock the entry, which the owner has given up.
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

-- Deferred: it runs at the commit, when the transaction takes no further lock. So operations wait for each other only
-- while one commits, in no order that could make a deadlock.
create constraint trigger audit_log_chained after insert on audit_log
  deferrable initially deferred for each row execute function chain_audit_entry();

-- The tables refuse changes to their owner as well.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only ever added to' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_is_kept before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();
create trigger audit_chain_is_kept before update or delete or truncate on audit_chain
  for each statement execute function refuse_audit_change();
revoke update, delete, truncate on audit_log, audit_chain from current_user;
