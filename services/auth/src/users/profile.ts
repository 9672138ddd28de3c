import { toRfc3339 } from '@trestle/database/timestamps.ts'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { IdentitiesTable, MfaFactorsTable, UsersTable } from '../database.ts'
import type { Factor } from '../factors/factor.ts'
import type { Identity } from '../identities/identity.ts'
import { toIdentity } from '../identities/identity-repository.ts'
import type { User } from './user.ts'
import { toUser } from './user-repository.ts'

/** Everything that a user record shows. Its password hash stays in the database. */
export interface Profile {
  readonly user: User
  /** Oldest first. */
  readonly identities: readonly Identity[]
  /** Oldest first. */
  readonly factors: readonly Factor[]
}

type UserRow = Omit<Selectable<UsersTable>, 'encrypted_password'>
type FactorRow = Pick<
  Selectable<MfaFactorsTable>,
  'id' | 'friendly_name' | 'factor_type' | 'status' | 'phone' | 'last_challenged_at' | 'created_at' | 'updated_at'
>

/** What `profileColumns` gives. */
export interface ProfileRow extends UserRow {
  readonly identities: readonly Selectable<IdentitiesTable>[] | null
  readonly factors: readonly FactorRow[] | null
}

// Named one by one: a prepared `*` fails as soon as a migration adds a column.
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
] as const satisfies readonly (keyof UserRow)[]

/**
 * The select list of a profile, for queries that answer one user with everything that belongs to them.
 * @param user an expression of the type of the table `users`, such as an alias of it
 */
export function profileColumns(user: RawBuilder<unknown>): RawBuilder<ProfileRow> {
  const columns = USER_COLUMNS.map((name) => sql`(${user}).${sql.ref(name)}`)
  return sql`${sql.join(columns)},
    (SELECT json_agg(i ORDER BY i.created_at, i.id) FROM ${sql.table('identities')} i
      WHERE i.user_id = (${user}).id) AS identities,
    (SELECT json_agg(json_build_object('id', f.id, 'friendly_name', f.friendly_name, 'factor_type', f.factor_type,
        'status', f.status, 'phone', f.phone, 'last_challenged_at', f.last_challenged_at,
        'created_at', f.created_at, 'updated_at', f.updated_at) ORDER BY f.created_at, f.id)
      FROM ${sql.table('mfa_factors')} f WHERE f.user_id = (${user}).id) AS factors`
}

/** Maps a row that was selected by `profileColumns`. */
export function toProfile(row: ProfileRow): Profile {
  return {
    user: toUser({ ...row, encrypted_password: null }),
    identities: (row.identities ?? []).map(toIdentityOfJson),
    factors: (row.factors ?? []).map(toFactorOfJson),
  }
}

/** Timestamps inside JSON have PostgreSQL's own form. */
function toIdentityOfJson(row: Selectable<IdentitiesTable>): Identity {
  return toIdentity({
    ...row,
    last_sign_in_at: row.last_sign_in_at && toRfc3339(row.last_sign_in_at),
    created_at: toRfc3339(row.created_at),
    updated_at: toRfc3339(row.updated_at),
  })
}

function toFactorOfJson(row: FactorRow): Factor {
  return {
    id: row.id,
    friendlyName: row.friendly_name,
    // The table's CHECK constraints allow nothing else.
    factorType: row.factor_type as Factor['factorType'],
    status: row.status as Factor['status'],
    phone: row.phone,
    lastChallengedAt: row.last_challenged_at && toRfc3339(row.last_challenged_at),
    createdAt: toRfc3339(row.created_at),
    updatedAt: toRfc3339(row.updated_at),
  }
}
