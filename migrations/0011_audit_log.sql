-- Why: people can see who did what, except for what API clients do. Each entry has a hash that includes the hash of the
-- entry before, and the signed statement of each closed day contains the newest hash: so a later change is detected.

create table audit_log (
  id bigint primary key generated always as identity,
  at timestamptz(3) not null,
  -- Such as user:maria@example.com, cli:maria, or service for what Guichê does automatically.
  actor text not null,
  action text not null,
  merchant_id uuid,
  record_id uuid,
  details json
);
create index audit_log_of_record on audit_log (record_id);

create table audit_chain (
  -- 1, 2, 3 … in the order of commit, without gaps. Ids of entries have gaps, left by transactions that were rolled
  -- back.
  position bigint primary key,
  -- There is no foreign key: to check it, PostgreSQL would need the right to lock the entry, which the owner has
  -- revoked.
  entry_id bigint not null unique,
  hash bytea not null
);

-- src/audit/verify.ts computes the same hash, so that a verification does not rely on a function in the database.
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
  -- No other transaction appends to the chain until this one has committed.
  perform pg_advisory_xact_lock(hashtextextended('audit chain', 0));
  select * into former from audit_chain order by position desc limit 1;
  insert into audit_chain (position, entry_id, hash)
  values (coalesce(former.position, 0) + 1, new.id, audit_entry_hash(coalesce(former.hash, ''), new));
  return null;
end $$;

-- The trigger is deferred: it runs at the commit, after the transaction has taken all other locks. So transactions wait
-- for each other only during a commit, and cannot deadlock.
create constraint trigger audit_log_chained after insert on audit_log
  deferrable initially deferred for each row execute function chain_audit_entry();

-- The tables refuse changes by their owner as well.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only ever added to' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_is_kept before update or delete or truncate on audit_log
  for each statement execute function refuse_audit_change();
create trigger audit_chain_is_kept before update or delete or truncate on audit_chain
  for each statement execute function refuse_audit_change();
revoke update, delete, truncate on audit_log, audit_chain from current_user;
