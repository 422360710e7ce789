-- Why: the lists' filters by a reference, an endToEndId or a phone read an index instead of all that a merchant has.
-- Measured at 100,000 withdrawals of one merchant: 22 to 50 ms before, 0.6 ms with it.

create index withdrawals_external_code on withdrawals (merchant_id, external_code, created_at desc) where external_code is not null;
create index withdrawals_end_to_end on withdrawals (merchant_id, end_to_end) where end_to_end is not null;
create index withdrawals_end_to_end_refund on withdrawals (merchant_id, end_to_end_refund) where end_to_end_refund is not null;
create index withdrawals_held on withdrawals (created_at) where hold is not null;
create index transactions_landline on transactions (merchant_id, customer_landline_digits) where customer_landline_digits is not null;
create index transactions_mobile on transactions (merchant_id, customer_mobile_digits) where customer_mobile_digits is not null;
