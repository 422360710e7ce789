-- Why: what each PSP must hold is known. In place of the one account `acquirer` a merchant has a clearing account per acquirer, `acquirer:<name>`, so
-- that the sum over all merchants can be compared with the balance of that account at the PSP, and money leaves only through a PSP that has it.

alter table ledger_accounts
  drop constraint ledger_accounts_account_check,
  drop constraint ledger_no_overdraft,
  add constraint ledger_accounts_account_check check (
    account in ('available', 'reserved', 'blocked', 'fees', 'suspense', 'debt') or account like 'acquirer:_%'),
  add constraint ledger_no_overdraft check (balance >= 0 or account = 'debt' or account like 'acquirer:%');

-- What an acquirer holds of all merchants. Without the balance, so that a booking still changes no index.
create index ledger_accounts_of_account on ledger_accounts (account text_pattern_ops);

-- What of that is to be sent out already.
create index withdrawals_open on withdrawals (acquirer) include (amount) where status in ('PENDING', 'PROCESSING');
