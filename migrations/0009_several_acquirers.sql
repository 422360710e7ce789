-- Why: a charge may have been asked of more than one acquirer before one of them answered: a payment at any of them is credited.
alter table transactions add column other_acquirers text[] not null default '{}';
