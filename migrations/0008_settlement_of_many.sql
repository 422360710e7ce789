-- Why: the inbox of callbacks is its own queue (docs/decisions/0009): a notice says itself when it is to be looked at.

alter table callback_inbox
  -- When it is to be looked at; while a process has it in hand, the end of its lease. Of no meaning once the state is final.
  -- At once where nothing is said: a process of before, while it is replaced, keeps callbacks and knows nothing of this.
  add column look_at timestamptz(3) not null default now(),
  -- How often the acquirer has answered that it does not know of it.
  add column looks smallint not null default 0,
  -- Why the last look came to no answer.
  add column last_error text;

create index callback_inbox_due on callback_inbox (look_at) where state = 'received';

-- Before, each notice had a job. What was still to be looked at stands in the inbox as well.
do $$
begin
  if to_regclass('graphile_worker._private_jobs') is not null then
    delete from graphile_worker._private_jobs
    where task_id = (select id from graphile_worker._private_tasks where identifier = 'callbacks.process');
  end if;
end
$$;
