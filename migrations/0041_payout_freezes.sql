-- Why: one word for one concept, as in docs/glossary.md. A brake is a payout freeze.
alter table brakes rename to payout_freezes;
alter index brakes_one_engaged rename to payout_freezes_one_active;
