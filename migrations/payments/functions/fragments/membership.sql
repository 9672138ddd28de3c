-- One row if the app or user `identity_id` is a member of the merchant `merchant_id`.
{{include:app_membership.sql merchant_id => {{:merchant_id}}, identity_id => {{:identity_id}}}}
UNION ALL
{{include:user_membership.sql merchant_id => {{:merchant_id}}, identity_id => {{:identity_id}}}}
