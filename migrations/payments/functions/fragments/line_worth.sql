-- The balance of `line`, in the merchant's currency of now. Reads opened_id and former_currency, which currency_opened returns.
CASE WHEN {{:line}}.id < opened_id THEN {{to_euro}}({{:line}}.balance, former_currency) ELSE {{:line}}.balance END
