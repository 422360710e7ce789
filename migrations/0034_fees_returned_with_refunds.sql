-- Why: a merchant whose only sale was paid less a fee cannot refund it whole. The operator may have the payment's fee given back with the refund: a part of the
-- rule for refunds, so that it counts for the refunds from its moment on.

alter table fee_rules
  add column returns_payment_fee boolean not null default false,
  add constraint fee_rules_returns_payment_fee check (not returns_payment_fee or operation = 'refund');

-- What of the payment's fee came back with this refund, in cents.
alter table refunds add column fee_returned bigint not null default 0 check (fee_returned >= 0);
