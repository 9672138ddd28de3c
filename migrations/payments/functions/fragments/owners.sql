-- The merchants that the id `id` may belong to. At most one of them has the row. One column only: with a constant beside it,
-- PostgreSQL would scan each half as a subquery.
{{include:owner_by_tag.sql id => {{:id}}}}
UNION ALL
{{include:owner_by_alias.sql id => {{:id}}}}
