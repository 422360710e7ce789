-- Why: one entry in an acquirer's list that could not be read stopped the reading of that list, and with it every close of a day, for ever. It
-- is now put aside as a difference of its own that a person can look at and decide on, and the rest of the list goes on.
alter table differences drop constraint differences_class_check;
alter table differences add constraint differences_class_check check (class in (
  'late', 'missing_here', 'missing_there', 'amount', 'fee', 'duplicate', 'orphan', 'cut_off', 'return', 'payout', 'unreadable'));
