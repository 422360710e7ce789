-- Why: the dispute of a payment that is in suspense was only logged. The payment could be attributed to a transaction later, and its money be withdrawn
-- while the dispute was open. Each such dispute is kept here until its payment has a transaction; then it becomes one of that transaction.

create table unattributed_disputes (
  acquirer text not null,
  -- The acquirer's own identifier of the dispute.
  reference text not null,
  -- Of the payment: it is in suspense, or nothing of ours at all.
  end_to_end text not null,
  amount bigint not null,
  reason text,
  -- As infractions have them.
  acquirer_status text,
  acquirer_state text not null
    check (acquirer_state in ('open', 'accepted', 'returned', 'rejected', 'canceled', 'unknown')),
  opened_at timestamptz(3) not null,
  deadline_at timestamptz(3),
  -- When it was last reported as something new.
  changed_at timestamptz(3) not null,
  primary key (acquirer, reference)
);
create index unattributed_disputes_of_payment on unattributed_disputes (acquirer, end_to_end);
create index unattributed_disputes_undecided on unattributed_disputes (acquirer, opened_at)
  where acquirer_state in ('open', 'accepted', 'unknown');
