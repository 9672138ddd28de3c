-- An operation as a row, with its caller, its merchant and the verdict on both. `operation`: a row of asked_operations.sql.
-- `identity_id`: the caller, or NULL. `member_of`: the merchant of which the caller is a member, or NULL. `is_found`: whether the
-- merchant has the transaction. `merchant`: its row, with pricing and permissions.
ROW({{:operation}}.kind, {{:operation}}.transaction_id, {{:operation}}.amount, {{:operation}}.currency, {{:operation}}.descriptor,
  {{:operation}}.reference, '/transactions/' || {{:operation}}.transaction_id || '/' || {{:operation}}.kind || 's', {{:operation}}.key,
  decode({{:operation}}.fingerprint, 'hex'),
  {{include:access_verdict.sql identity_id => {{:identity_id}}, is_found => {{:is_found}},
    is_allowed => {{:member_of}} IS NOT NULL AND ({{:merchant}}.claim ->> ('can' || initcap({{:operation}}.kind)))::boolean}},
  {{:identity_id}}, {{:merchant_id}}, {{:merchant}}.pricing)::{{operation_item}}
