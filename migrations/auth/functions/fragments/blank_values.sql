-- The values of the columns in blank_columns.sql.
'00000000-0000-0000-0000-000000000000'::uuid, '', '', '', ''
