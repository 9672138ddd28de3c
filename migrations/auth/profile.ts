import { type RawBuilder, sql } from 'kysely'
import type { Names } from '../migration.ts'

// Frozen with 0015 to 0017, 0081 and 0084, which answer sessions: a column that comes later is added by functions of a later
// migration.
const USER_COLUMNS = [
  'id',
  'aud',
  'role',
  'email',
  'phone',
  'email_confirmed_at',
  'phone_confirmed_at',
  'confirmed_at',
  'invited_at',
  'confirmation_sent_at',
  'recovery_sent_at',
  'email_change',
  'email_change_sent_at',
  'email_change_confirm_status',
  'phone_change',
  'phone_change_sent_at',
  'reauthentication_sent_at',
  'last_sign_in_at',
  'raw_app_meta_data',
  'raw_user_meta_data',
  'banned_until',
  'deleted_at',
  'is_anonymous',
  'is_sso_user',
  'staged_at',
  'created_at',
  'updated_at',
]

/** The user of row `u` as one JSON value without the password. */
function userOf(): RawBuilder<unknown> {
  const members = USER_COLUMNS.map((column) => sql`${sql.lit(column)}, u.${sql.ref(column)}`)
  return sql`json_build_object(${sql.join(members)})`
}

/** As `profileOf`, of the user whom the same statement makes, with the identity in `identity`. */
export function profileOfNew(): RawBuilder<unknown> {
  return sql`json_build_object('user', ${userOf()}, 'identities', (SELECT json_agg(i) FROM identity i), 'factors', NULL)`
}

/** As `profileOfNew`, where the statement makes several users. */
export function profileOfUsers(): RawBuilder<unknown> {
  return sql`json_build_object('user', ${userOf()},
    'identities', (SELECT json_agg(d) FROM identity d WHERE d.user_id = u.id), 'factors', NULL)`
}

/**
 * What a session's body shows of the user of row `u`, as one JSON value without the password. An expression over the row
 * where it is written, so that no whole row is taken to the caller and apart there.
 */
export function profileOf(names: Names): RawBuilder<unknown> {
  return sql`json_build_object('user', ${userOf()},
    'identities', (SELECT json_agg(i ORDER BY i.created_at, i.id) FROM ${names.id('identities')} i
      WHERE i.user_id = u.id),
    'factors', (SELECT json_agg(json_build_object('id', f.id, 'friendly_name', f.friendly_name,
        'factor_type', f.factor_type, 'status', f.status, 'phone', f.phone,
        'last_challenged_at', f.last_challenged_at, 'created_at', f.created_at, 'updated_at', f.updated_at)
        ORDER BY f.created_at, f.id)
      FROM ${names.id('mfa_factors')} f WHERE f.user_id = u.id))`
}
