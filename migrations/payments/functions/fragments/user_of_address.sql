-- The user with the email address `user_email`. The comparison ignores the case of the letters A to Z.
SELECT u.id AS identity_id FROM {{users}} u WHERE lower(u.email COLLATE "C") = lower({{:user_email}} COLLATE "C")
