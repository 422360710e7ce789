-- Why: after a loss of commits, a withdrawal without the acquirer's reference may have been sent under one that was lost.
-- Runs with code since 0015.

-- When the database lost commits while it was PROCESSING without a reference. Null for nearly all.
alter table withdrawals add column commits_lost_at timestamptz(3);
