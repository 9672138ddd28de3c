-- The merchant that the seeded id `id` is listed under.
SELECT a.merchant_id FROM {{id_aliases}} a WHERE a.id = {{:id}}
