-- Why: a merchant's accountant reads reports and moves no money (src/users/roles.ts). Until now the least that could
-- read them was `finance`, which may refund and withdraw. Processes with earlier code do not know the role and give it
-- no permission.

alter table users drop constraint users_role_of_side;
alter table users add constraint users_role_of_side check (
  case when merchant_id is null then role in ('admin', 'finance', 'support', 'read_only')
  else role in ('owner', 'finance', 'accountant', 'developer') end);
