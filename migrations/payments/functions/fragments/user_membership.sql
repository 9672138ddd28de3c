-- One row if the user `identity_id` is a member of the merchant `merchant_id`. A user who has not accepted the invitation is no
-- member.
SELECT u.merchant_id FROM {{merchant_users}} u
WHERE u.merchant_id = {{:merchant_id}} AND u.user_id = {{:identity_id}} AND NOT u.pending
