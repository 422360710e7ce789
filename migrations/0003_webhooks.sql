-- Why: merchants are notified of each status change, signed, in order, at least once.

-- One row per status change, written in the same commit; never changed.
create table events (
  merchant_id uuid not null,
  id uuid not null,
  type text not null,
  record_type text not null check (record_type in ('transaction', 'withdrawal')),
  record_id uuid not null,
  -- Counts a record's status changes, from 1.
  sequence integer not null,
  occurred_at timestamptz(3) not null,
  -- The record's mutable fields after this change; null where they are the record's initial ones.
  snapshot json,
  primary key (merchant_id, record_id, sequence)
) with (
  -- Only added to: vacuumed so that lists read only indexes, and frozen while it is still in memory.
  autovacuum_vacuum_insert_scale_factor = 0.05,
  -- Read by keys, or along an index.
  autovacuum_analyze_scale_factor = 0.5
);
create index events_newest on events (merchant_id, occurred_at desc, id desc);

-- The addresses that a merchant registered: each receives the events of all its records that match its filter.
create table webhook_endpoints (
  merchant_id uuid not null references clients,
  id uuid not null,
  url text not null,
  -- Scheme, host and port of the url, as in its deliveries.
  receiver text not null,
  description text not null,
  -- Null: all types.
  event_types text[],
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- Since when every attempt has failed; null after one that succeeded.
  failing_since timestamptz(3),
  disabled_at timestamptz(3),
  -- request: a person or program of the merchant; failing: after days without success; gone: it answered 410.
  disabled_reason text check (disabled_reason in ('request', 'failing', 'gone')),
  -- Kept, because its deliveries name it.
  deleted_at timestamptz(3),
  primary key (merchant_id, id),
  constraint webhook_endpoints_disabled check ((disabled_at is null) = (disabled_reason is null))
);
-- An address receives an event once.
create unique index webhook_endpoints_url on webhook_endpoints (merchant_id, url) where deleted_at is null;

-- What deliveries are signed with.
create table webhook_secrets (
  merchant_id uuid not null references clients,
  id uuid not null,
  -- Null: it signs the deliveries to the URLs of the merchant's records.
  endpoint_id uuid,
  -- AES-256-GCM under the service's secret key: deliveries are signed with it, so it must be readable.
  sealed bytea not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  primary key (merchant_id, id),
  foreign key (merchant_id, endpoint_id) references webhook_endpoints
);

-- One per event and address that it is sent to: the record's own URL, and registered endpoints.
create table webhook_deliveries (
  merchant_id uuid not null,
  -- The event's id if it goes to the record's own URL. To an endpoint: a hash of the event's and the endpoint's ids, so
  -- that no event has two deliveries to one endpoint.
  id uuid not null,
  record_id uuid not null,
  sequence integer not null,
  -- Null: the record's own URL. No foreign key: its check would cost every delivery time, and endpoints are never removed.
  endpoint_id uuid,
  url text not null,
  -- Scheme, host and port of the url: these deliveries share a budget of connections.
  receiver text not null,
  -- waiting: behind an earlier delivery of its record to the same address, until that one is finished.
  state text not null check (state in ('waiting', 'pending', 'delivered', 'exhausted', 'gone', 'canceled')),
  -- All attempts ever made.
  attempts integer not null default 0,
  -- Those made before the schedule began again: at a resend, or when a newer event of the record was queued behind it.
  attempts_before integer not null default 0,
  -- While a worker has it, the end of its lease: so the index of due ones holds nothing that cannot be claimed.
  next_attempt_at timestamptz(3) not null,
  -- Until when a worker has it. The lease of a worker that died ends automatically.
  leased_until timestamptz(3),
  -- The instance of that worker. When it is dead, others release its leases before they end (src/jobs/instances.ts).
  leased_by integer,
  -- The receiver's Retry-After.
  retry_after timestamptz(3),
  last_status integer,
  last_error text,
  created_at timestamptz(3) not null,
  finished_at timestamptz(3),
  -- The resend of a whole period that it was part of: a repeated request sends each once, and its progress is known.
  resend_id uuid,
  -- How much sooner the next attempts are due: what is left of the time by which the sandbox clock was advanced.
  advance_left interval,
  primary key (merchant_id, id),
  foreign key (merchant_id, record_id, sequence) references events
) with (
  -- A queue inside a history: vacuumed by what passed through it, not by its size.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.5
);
create index webhook_deliveries_due on webhook_deliveries (receiver, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_record on webhook_deliveries (merchant_id, record_id, sequence);
-- Deliveries that did not arrive are few, and a new delivery rarely writes to this.
create index webhook_deliveries_undelivered on webhook_deliveries (merchant_id, state, created_at desc, id desc)
  where state in ('waiting', 'exhausted', 'gone', 'canceled');
create index webhook_deliveries_resent on webhook_deliveries (merchant_id, resend_id) where resend_id is not null;

create table webhook_attempts (
  merchant_id uuid not null,
  delivery_id uuid not null,
  number integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  -- HTTP status of the answer; null when there was none.
  status integer,
  error text,
  -- The beginning of the answer's body, if it had one.
  response text,
  primary key (merchant_id, delivery_id, number),
  foreign key (merchant_id, delivery_id) references webhook_deliveries
) with (autovacuum_analyze_scale_factor = 0.5);
-- Attempts are deleted by age. They come in the order of time, so each goes to the index's last page: 1 to 2 µs.
create index webhook_attempts_started on webhook_attempts (started_at);
