/**
 * The operator's own merchant: its accounts hold what belongs to no other merchant. It has no API client, so nobody
 * can call the API for it. Its id is a UUID of version 8, which no registered merchant can have
 * (migrations/0001_settings_and_auth.sql).
 */
export const operatorMerchantId = '00000000-0000-8000-8000-000000000001'
