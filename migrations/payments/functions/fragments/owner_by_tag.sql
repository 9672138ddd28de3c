-- The merchant whose tag is the end of the id `id`. It has the row of the id, unless the id is listed under another merchant.
SELECT m.id AS merchant_id FROM {{merchants}} m WHERE m.tag = right({{:id}}, 8)
