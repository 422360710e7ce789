-- Why: a dispute (MED) may be returned in parts, be reopened, and stand beside another dispute of the same payment. Until now the first return ended
-- it, a second dispute was only logged, and nothing showed what went back. Each dispute now knows what it blocks and what was returned under it.

alter table infractions
  -- Where we learned of it. return: only from the return itself, as at PSPs that list no disputes.
  add column source text not null default 'acquirer' check (source in ('acquirer', 'operator', 'return')),
  -- What the acquirer last said, in its own word and as we read it. Null until it says anything.
  add column acquirer_status text,
  add column acquirer_state text
    check (acquirer_state in ('open', 'accepted', 'returned', 'rejected', 'canceled', 'unknown')),
  -- Until when the acquirer decides, where it says so.
  add column deadline_at timestamptz(3),
  -- Of `amount`, which is what is disputed: what is set aside for it now, and what went back under it.
  add column blocked_amount bigint not null default 0,
  add column returned_amount bigint not null default 0,
  -- How often it was posted: each posting is an event of its own.
  add column postings integer not null default 0,
  add constraint infractions_blocks_while_undecided
    check (blocked_amount >= 0 and (blocked_amount = 0 or state in ('open', 'accepted'))),
  add constraint infractions_returned_no_more check (returned_amount between 0 and amount),
  add constraint infractions_finished_or_not check ((finished_at is null) = (state in ('open', 'accepted')));

-- Several may be open at once.
drop index infractions_one_at_a_time;
create index infractions_undecided on infractions (opened_at) where state in ('open', 'accepted');
create index infractions_reference on infractions (acquirer_reference) where acquirer_reference is not null;

-- What went back of a payment other than by our refunds, each return once: under MED, or by the bank itself and confirmed by an operator.
create table transaction_returns (
  merchant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  -- The dispute under which it went back; null where it was none.
  infraction_id uuid,
  -- The acquirer's id of the return, or of the discrepancy that was confirmed.
  reference text not null,
  end_to_end text,
  -- Below zero where a confirmed return proved wrong.
  amount bigint not null check (amount <> 0),
  returned_at timestamptz(3) not null,
  booked_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (transaction_id, merchant_id) references transactions,
  constraint transaction_returns_once unique (merchant_id, transaction_id, reference)
);
create index transaction_returns_end_to_end on transaction_returns (merchant_id, end_to_end) where end_to_end is not null;
create index transaction_returns_booked on transaction_returns (booked_at);

-- The sum of them, so that what is left of a payment is known without looking.
alter table transactions add column amount_returned bigint not null default 0;
alter table transactions alter column amount_returned set statistics 0;

-- The same table as src/transactions/status.ts; a test keeps them equal.
create or replace function transaction_moves_are_allowed(statuses text[]) returns boolean
  language plpgsql immutable strict parallel safe as $$
begin
  for i in 2 .. cardinality(statuses) loop
    if statuses[i - 1] || '>' || statuses[i] <> all (array[
      'PENDING>PIX_QRCODE_GENERATED', 'PENDING>FAILED',
      'PIX_QRCODE_GENERATED>PAID', 'PIX_QRCODE_GENERATED>FAILED',
      'FAILED>PAID',
      'PAID>PROCESSING_REFUND', 'PAID>BLOCKED', 'PAID>INFRACTION',
      'PROCESSING_REFUND>REFUNDED', 'PROCESSING_REFUND>PAID', 'PROCESSING_REFUND>BLOCKED', 'PROCESSING_REFUND>INFRACTION',
      'REFUNDED>INFRACTION',
      'BLOCKED>PROCESSING_INFRACTION', 'BLOCKED>PAID', 'BLOCKED>PROCESSING_REFUND', 'BLOCKED>INFRACTION',
      'PROCESSING_INFRACTION>INFRACTION', 'PROCESSING_INFRACTION>PAID', 'PROCESSING_INFRACTION>PROCESSING_REFUND',
      'PROCESSING_INFRACTION>BLOCKED',
      'INFRACTION>BLOCKED', 'INFRACTION>PROCESSING_REFUND'
    ]) then
      return false;
    end if;
  end loop;
  return statuses[1] = 'PENDING';
end $$;
