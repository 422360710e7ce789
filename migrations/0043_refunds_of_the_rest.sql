-- Why: a request without an amount refunds what is left. A repeat of it has to be recognized also when a dispute, a
-- return of the bank or a failed refund changed since then what is left: so each refund says what it was.

alter table refunds add column is_of_rest boolean not null default false;

comment on column refunds.is_of_rest is 'Whether the amount was all that was left of the payment when the refund was requested';
