-- One row if the app `identity_id` is a member of the merchant `merchant_id`.
SELECT a.merchant_id FROM {{merchant_apps}} a
WHERE a.merchant_id = {{:merchant_id}} AND a.app_id = {{:identity_id}} AND NOT a.pending
