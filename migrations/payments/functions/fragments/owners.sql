-- The merchants to which the id `id` may belong. At most one of them has the row. Select only one column: with a constant next to
-- it, PostgreSQL would scan each half as a subquery.
{{include:owner_by_tag.sql id => {{:id}}}}
UNION ALL
{{include:owner_by_alias.sql id => {{:id}}}}
