import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { UserIdentifier } from './user-repository.ts'

/** What a password is compared with. */
export interface Login {
  readonly id: string
  /** Null for a user without a password. */
  readonly passwordHash: string | null
  /** Whether the identifier that they sign in by is. */
  readonly isConfirmed: boolean
}

interface LoginQuery extends UserIdentifier {
  readonly audience: string
}

const byEmail = prepare<LoginQuery, Login, AuthDatabase>('find_login_by_email', (p, db) =>
  db
    .selectFrom('users')
    .select(['id', 'encrypted_password as passwordHash'])
    .select((e) => e('email_confirmed_at', 'is not', null).$castTo<boolean>().as('isConfirmed'))
    .where(sql<boolean>`lower(email) = ${p.value} AND NOT is_sso_user`)
    .where('aud', '=', p.audience)
    .where('staged_at', 'is', null)
    .where('deleted_at', 'is', null),
)

const byPhone = prepare<LoginQuery, Login, AuthDatabase>('find_login_by_phone', (p, db) =>
  db
    .selectFrom('users')
    .select(['id', 'encrypted_password as passwordHash'])
    .select((e) => e('phone_confirmed_at', 'is not', null).$castTo<boolean>().as('isConfirmed'))
    .where('phone', '=', p.value)
    .where('aud', '=', p.audience)
    .where('staged_at', 'is', null)
    .where('deleted_at', 'is', null),
)

/** Finds the user who may sign in by an identifier: neither staged nor deleted. */
export async function findLogin(lanes: Lanes, query: LoginQuery): Promise<Login | undefined> {
  return lanes.read.first(query.kind === 'email' ? byEmail : byPhone, query)
}
