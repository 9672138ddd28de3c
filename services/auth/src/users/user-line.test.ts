import { describe, expect, it } from 'vitest'
import { exportedRow } from '../../test/exported-row.ts'
import { readUserLine } from './imported-user.ts'

const ID = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'
const NEW_ID = '11111111-1111-4111-8111-111111111111'

describe('readUserLine', () => {
  it('accepts a row of supabase/auth and names its unknown members', () => {
    const row = exportedRow(ID, NEW_ID)
    expect(readUserLine(JSON.stringify(row))).toEqual({
      line: {
        id: ID,
        email: 'a@b.c',
        password_hash: row.encrypted_password,
        app_metadata: row.raw_app_meta_data,
        identities: row.identities,
      },
      ignored: ['instance_id', 'recovery_token'],
    })
  })

  it.each([
    ['2024-01-01 10:00:00+00', '2024-01-01T10:00:00+00:00'],
    ['2024-01-01 10:00:00.123456+05:30', '2024-01-01T10:00:00.123456+05:30'],
    ['2024-01-01 10:00:00-0330', '2024-01-01T10:00:00-03:30'],
    ['2024-01-01 10:00:00.5Z', '2024-01-01T10:00:00.5Z'],
    ['2024-01-01T10:00:00.1-08', '2024-01-01T10:00:00.1-08:00'],
  ])('reads the time %j, as psql shows it', (created_at, expected) => {
    expect(readUserLine(JSON.stringify({ email: 'a@b.c', created_at })).line).toEqual({
      email: 'a@b.c',
      created_at: expected,
    })
  })

  it.each([null, ''])('accepts deleted_at %j of a user who was not deleted', (deleted_at) => {
    expect(readUserLine(JSON.stringify({ email: 'a@b.c', deleted_at })).line).toEqual({ email: 'a@b.c' })
  })

  it('reads flags that are texts', () => {
    const flags = { email_confirm: 'true', phone_confirm: 'f', is_anonymous: 'false', is_sso_user: 't' }
    expect(readUserLine(JSON.stringify({ email: 'a@b.c', ...flags })).line).toEqual({
      email: 'a@b.c',
      email_confirm: true,
      phone_confirm: false,
      is_anonymous: false,
      is_sso_user: true,
    })
  })

  it.each(['admin ', '\u00a0bob', 'x'.repeat(512)])(
    'keeps the subject %j of an account at a provider as it is',
    (id) => {
      for (const member of ['provider_id', 'id']) {
        const identities = [{ provider: 'custom:plain', [member]: id }]
        expect(readUserLine(JSON.stringify({ email: 'a@b.c', identities })).line.identities).toEqual(identities)
      }
    },
  )

  it.each([
    ['{', 'Could not parse'],
    ['[]', 'is not an object'],
    [{ id: 'x', email: 'a@b.c' }, 'id must be a UUID'],
    [{ id: '00000000-0000-0000-0000-000000000000' }, 'id must not be the nil UUID'],
    [{ email: 5 }, 'email must be a string'],
    [{ email: 'a@b.c', deleted_at: '2024-01-01 10:00:00+00' }, 'deleted_at says that the user was deleted'],
    [{ email: 'a@b.c', deleted_at: 'infinity' }, 'deleted_at says that the user was deleted'],
    [{ email: 'a@b.c', role: ' ' }, 'role '],
    [{ email: 'a@b.c', user_metadata: [] }, 'user_metadata '],
    [{ email: 'a@b.c', created_at: 'yesterday' }, 'created_at must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', created_at: '2026-01-01T00:00:00+16:00' }, 'created_at must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', created_at: '0000-01-01T00:00:00Z' }, 'created_at must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', created_at: '2026-02-30T00:00:00Z' }, 'created_at must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', created_at: '2024-01-01 10:00:00' }, 'created_at must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', created_at: '2024-02-30 10:00:00+00' }, 'created_at must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', email_confirm: 'yes' }, 'email_confirm must be a boolean'],
    [{ email: 'a@b.c', banned_until: 1 }, 'banned_until must be an RFC 3339 time with an offset'],
    [{ email: 'a@b.c', identities: [{ provider_id: '1' }] }, 'identities.0.provider '],
    [{ email: 'a@b.c', identities: [{ provider: 'google', id: 'x'.repeat(513) }] }, 'identities.0.id '],
  ])('refuses %j', (line, reason) => {
    expect(() => readUserLine(typeof line === 'string' ? line : JSON.stringify(line))).toThrow(reason)
  })
})
