-- Why: two persons are two people. What needs a second one is kept as a proposal until somebody else approves it, and it is known through
-- whose hands an account or a client secret came, so that nobody is the second person of their own request.

create table proposals (
  id uuid primary key,
  -- What would be done, such as withdrawal.limits. The program has the list.
  kind text not null,
  -- Null: the operator's own.
  merchant_id uuid,
  -- The record that it is about: one proposal of a kind is open for it at a time.
  record_id uuid not null,
  -- Everything that the approval carries out, nothing is added later.
  content json not null,
  -- As the audit log names people.
  proposed_by text not null,
  proposed_at timestamptz(3) not null,
  state text not null default 'open' check (state in ('open', 'approved', 'rejected', 'replaced')),
  decided_by text,
  decided_at timestamptz(3),
  constraint proposals_decided check ((state = 'open') = (decided_by is null) and (state = 'open') = (decided_at is null))
);
create unique index proposals_one_open on proposals (kind, record_id) where state = 'open';

alter table client_secrets
  -- Who has seen it: whoever made it, as the audit log names people. Null: the service itself, for the sandbox.
  add column made_by text;

alter table users
  -- Who handed out the link by which the password was last chosen, for the first time or after a reset, and when that was. Null: the command
  -- line or the service itself.
  add column enrolled_by uuid references users,
  add column enrolled_at timestamptz(3);

alter table withdrawal_limits
  -- Above it a withdrawal that one of the operator's people asks for needs a second one.
  add column operator_approval_above bigint default 0 check (operator_approval_above >= 0);
