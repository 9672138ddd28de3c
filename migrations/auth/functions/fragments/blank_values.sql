-- No instance, no token that waits, no change of email.
'00000000-0000-0000-0000-000000000000'::uuid, '', '', '', ''
