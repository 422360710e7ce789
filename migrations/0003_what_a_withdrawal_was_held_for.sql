-- Why: the answer to a withdrawal says whether it is held, and a repeated request gets that answer byte for byte, also after
-- somebody has let the withdrawal go. `hold` is what it waits for now; this is what it waited for when it was born.
alter table withdrawals
  add column hold_at_birth text check (hold_at_birth in ('approval', 'duplicate'));
