/**
 * The operator's own merchant: what belongs to no other is in its accounts. It has no client, so nobody can ask the API for it. A UUID of
 * version 8, which no merchant that is registered can have (migration 0010).
 */
export const houseMerchantId = '00000000-0000-8000-8000-000000000001'
