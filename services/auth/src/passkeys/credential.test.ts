import { expect, it } from 'vitest'
import { toTimestamp } from '../records/timestamp.ts'
import { viewPasskey, viewPasskeyQuestion } from './credential.ts'

const id = '00000000-0000-4000-8000-000000000001'
const createdAt = toTimestamp(new Date('2026-01-02T03:04:05.678Z'))
const passkey = {
  id,
  userId: '00000000-0000-4000-8000-000000000002',
  friendlyName: 'Passkey',
  credential: { id: 'AAAA', publicKey: 'BBBB', counter: 3, transports: ['internal'], backupEligible: false },
  createdAt,
  lastUsedAt: null,
}

it('a passkey shows neither its credential nor its user, and no last use before the first', () => {
  const shown = { id, friendly_name: 'Passkey', created_at: createdAt }
  expect(viewPasskey(passkey)).toEqual(shown)
  expect(viewPasskey({ ...passkey, lastUsedAt: createdAt })).toEqual({ ...shown, last_used_at: createdAt })
})

it.each([
  ['2026-01-02T03:04:05.000Z', 1_767_323_045],
  ['2026-01-02T03:04:05.999Z', 1_767_323_045],
])('a challenge that ends at %s shows the second %i', (end, second) => {
  const options = { challenge: 'AAAA' }
  expect(viewPasskeyQuestion({ id, options, expiresAt: new Date(end) })).toEqual({
    challenge_id: id,
    options,
    expires_at: second,
  })
})
