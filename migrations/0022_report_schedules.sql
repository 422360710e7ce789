-- Why: an accountant gets a report by e-mail when its period is over, once, without anybody thinking of it.
-- Compatible with code from migration 0015 on.

create table report_schedules (
  -- The operator's own merchant for closed days.
  merchant_id uuid not null,
  id uuid not null,
  report text not null check (report in ('transactions', 'withdrawals', 'statement', 'fees', 'closed_day')),
  format text not null check (format in ('csv', 'excel', 'ofx', 'pdf')),
  every text not null check (every in ('day', 'week', 'month')),
  -- By which moment payments and withdrawals are in the period.
  dating text not null check (dating in ('created', 'paid', 'posted')),
  language text not null check (language in ('en', 'pt')),
  -- Users. Whether they may still read the report is checked before each sending.
  recipients uuid[] not null check (cardinality(recipients) between 1 and 10),
  -- True: the operator's people see it, the merchant's do not.
  is_operators boolean not null,
  created_by text not null,
  created_at timestamptz(3) not null,
  paused_at timestamptz(3),
  -- When the period that runs is over.
  due_at timestamptz(3) not null,
  primary key (merchant_id, id)
);
create index report_schedules_due on report_schedules (due_at) where paused_at is null;

-- One period of a schedule: it is sent once to each recipient.
create table report_sendings (
  merchant_id uuid not null,
  schedule_id uuid not null,
  first_day date not null,
  last_day date not null,
  due_at timestamptz(3) not null,
  -- The recipients whose mail server has accepted it.
  sent_to uuid[] not null default '{}',
  attempts integer not null default 0,
  last_error text,
  outcome text check (outcome in ('sent', 'no_recipient', 'given_up', 'paused')),
  finished_at timestamptz(3),
  primary key (merchant_id, schedule_id, first_day),
  foreign key (merchant_id, schedule_id) references report_schedules on delete cascade,
  constraint report_sendings_finished check ((outcome is null) = (finished_at is null))
);
