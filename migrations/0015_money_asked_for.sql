-- Why: an acquirer may refuse the repeat of a request whose answer was lost, know of neither, and carry out the first all the same a while
-- later. When it was last asked tells for how long a refusal is not believed.
alter table refunds add column asked_at timestamptz(3);
alter table withdrawals add column asked_at timestamptz(3);
alter table suspense_payments add column return_asked_at timestamptz(3);

-- What is under way was asked for.
update refunds set asked_at = created_at where check_at is not null and status = 'PROCESSING';
update suspense_payments set return_asked_at = status_dates[cardinality(status_dates)]
  where check_at is not null and status = 'returning';
