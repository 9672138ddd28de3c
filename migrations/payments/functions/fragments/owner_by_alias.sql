-- The merchant under which the seeded id `id` is listed.
SELECT a.merchant_id FROM {{id_aliases}} a WHERE a.id = {{:id}}
