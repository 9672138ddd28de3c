-- The user who has the email address `user_email`, in any case of letters.
SELECT u.id AS identity_id FROM {{users}} u WHERE lower(u.email) = lower({{:user_email}})
