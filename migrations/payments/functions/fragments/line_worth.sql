-- The balance of `line` in the merchant's present currency. Reads opened_id and former_currency, which come from currency_opened.
CASE WHEN {{:line}}.id < opened_id THEN {{to_euro}}({{:line}}.balance, former_currency) ELSE {{:line}}.balance END
