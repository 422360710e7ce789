-- Why: an accountant automatically gets each report once, by e-mail, when its period is over.
-- Compatible with code from migration 0015 on.

create table report_schedules (
  -- The merchant that the report is about. The report closed_day, the signed statement of a reconciled day, is of all
  -- merchants: its schedules are stored under the operator's own merchant.
  merchant_id uuid not null,
  id uuid not null,
  report text not null check (report in ('transactions', 'withdrawals', 'statement', 'fees', 'closed_day')),
  format text not null check (format in ('csv', 'excel', 'ofx', 'pdf')),
  every text not null check (every in ('day', 'week', 'month')),
  -- Which date decides whether a payment or a withdrawal is in the period: of its creation, its payment or its posting.
  dating text not null check (dating in ('created', 'paid', 'posted')),
  language text not null check (language in ('en', 'pt')),
  -- The ids of users. Before each sending the service checks that they may still read the report.
  recipients uuid[] not null check (cardinality(recipients) between 1 and 10),
  -- Whether only users of the operator see the schedule, and users of the merchant do not.
  is_operators boolean not null,
  created_by text not null,
  created_at timestamptz(3) not null,
  paused_at timestamptz(3),
  -- When the report of the current period is due: in the morning after its last day.
  due_at timestamptz(3) not null,
  primary key (merchant_id, id)
);
create index report_schedules_due on report_schedules (due_at) where paused_at is null;

-- The reports that were due: one row per period of a schedule. A report is sent once to each recipient.
create table report_sendings (
  merchant_id uuid not null,
  schedule_id uuid not null,
  first_day date not null,
  last_day date not null,
  due_at timestamptz(3) not null,
  -- The recipients for whom the mail server has accepted the report.
  sent_to uuid[] not null default '{}',
  attempts integer not null default 0,
  last_error text,
  -- paused: the schedule was paused before the report was sent. Null: the report waits, is being sent, or is tried
  -- again.
  outcome text check (outcome in ('sent', 'no_recipient', 'given_up', 'paused')),
  finished_at timestamptz(3),
  primary key (merchant_id, schedule_id, first_day),
  foreign key (merchant_id, schedule_id) references report_schedules on delete cascade,
  constraint report_sendings_finished check ((outcome is null) = (finished_at is null))
);
