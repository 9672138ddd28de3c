-- The user who has the email address `user_email`, in any case of the letters A to Z.
SELECT u.id AS identity_id FROM {{users}} u WHERE lower(u.email COLLATE "C") = lower({{:user_email}} COLLATE "C")
