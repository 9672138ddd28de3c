-- distribute: everywhere
-- Returns the integer nearest to n/d; of two equally near integers, the even one. n >= 0, d > 0. The body is one expression, so
-- that the planner can inline it. (reference: Rounding)
CREATE OR REPLACE FUNCTION {{round_half_even}}(n numeric, d numeric)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT (div(n, d) + CASE sign(2 * mod(n, d) - d) WHEN 1 THEN 1 WHEN 0 THEN mod(div(n, d), 2) ELSE 0 END)::bigint
$$;
