-- Why: Banco Inter and Sicoob know a payout by an id of their own. It is kept before, or as soon as, money can move, so that a payout is
-- found after a lost answer and no second one is ever made for the same withdrawal.
alter table withdrawals add column acquirer_reference text;
create unique index withdrawals_acquirer_reference on withdrawals (acquirer, acquirer_reference)
  where acquirer_reference is not null;
