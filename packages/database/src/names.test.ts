import { withNames } from '@trestle/migrations/functions.ts'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createNames } from './names.ts'
import { violates } from './violations.ts'

// The longest valid DB_NAMESPACE.
const names = createNames('auth', 'a'.repeat(31))
const LONG = 'mfa_amr_claims_session_id_authentication_method_pkey'
/** The name as PostgreSQL truncates it. */
const CUT = `${names.prefix}mfa_amr_claims_session_id_authe`

function violation(constraint: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('duplicate key', 0, 'error'), { code: '23505', constraint })
}

describe('a name that is too long with its prefix', () => {
  it('is cut off at 63 bytes', () => {
    expect(withNames(`{{local:${LONG}}} {{local:users_pkey}}`, names)).toBe(`"${CUT}" "${names.prefix}users_pkey"`)
  })

  it.each([
    ['is known', CUT, [LONG], true],
    ['is known among others', CUT, ['users_pkey', LONG], true],
    ['is none of others', CUT, ['users_pkey'], false],
    ['is known on a shard', `${names.prefix}users_pkey_17`, ['users_pkey'], true],
  ])('its violation %s', (_title, reported, constraints, expected) => {
    expect(violates(violation(reported), names, ...constraints)).toBe(expected)
  })

  it('is violated by no other error', () => {
    expect(violates(new Error(LONG), names, LONG)).toBe(false)
  })
})
