-- Why: people are notified of what needs them, once each, by e-mail, Slack, Telegram or a webhook (docs/monitoring.md).

-- A condition of src/alerts/conditions.ts that was met.
create table alerts (
  id uuid primary key,
  kind text not null,
  -- The labels of the metric that tell the subjects of one condition apart, as JSON.
  subject text not null,
  -- The metric when the condition was last met: seconds, cents or a count.
  value bigint not null,
  began_at timestamptz(3) not null,
  -- When the condition was last met.
  met_at timestamptz(3) not null,
  -- The last report; null until the condition has lasted long enough.
  reported_at timestamptz(3),
  -- Counts the beginning, each reminder and the end.
  reports integer not null default 0,
  ended_at timestamptz(3),
  constraint alerts_reported check ((reports = 0) = (reported_at is null))
);
create unique index alerts_open on alerts (kind, subject) where ended_at is null;

-- What each channel has received of an alert.
create table alert_notices (
  alert_id uuid not null references alerts on delete cascade,
  channel text not null,
  -- When the current report is due; while a process sends it, the end of its lease; null when it was sent.
  send_at timestamptz(3),
  -- The last report that was sent.
  sent integer not null default 0,
  primary key (alert_id, channel)
);
