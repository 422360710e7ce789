-- Why: people are notified of conditions that need them, by e-mail, Slack, Telegram or a webhook (docs/monitoring.md).

-- The conditions of src/alerts/conditions.ts that were met: one row from the beginning of a condition to its end.
create table alerts (
  id uuid primary key,
  kind text not null,
  -- The labels of the condition's metric that distinguish its subjects, as JSON.
  subject text not null,
  -- The value of the metric when the condition was last met, in seconds, in cents or as a count.
  value bigint not null,
  began_at timestamptz(3) not null,
  -- When the condition was last met.
  met_at timestamptz(3) not null,
  -- When the alert was last reported. Null: the condition has not lasted long enough.
  reported_at timestamptz(3),
  -- The number of reports so far: of the beginning, each reminder, and the end.
  reports integer not null default 0,
  ended_at timestamptz(3),
  constraint alerts_reported check ((reports = 0) = (reported_at is null))
);
create unique index alerts_open on alerts (kind, subject) where ended_at is null;

-- Which reports of an alert each channel, such as e-mail, has received.
create table alert_notices (
  alert_id uuid not null references alerts on delete cascade,
  channel text not null,
  -- When the last report is due to be sent. While a process sends it, this is the end of its lease. Null: it was sent.
  send_at timestamptz(3),
  -- The number of the last report that was sent. 0: none.
  sent integer not null default 0,
  primary key (alert_id, channel)
);
