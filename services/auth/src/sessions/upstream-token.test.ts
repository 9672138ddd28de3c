import { describe, expect, it } from 'vitest'
import { createEncryptionKeys } from '../secrets/sealed-secret.ts'
import { deriveUpstreamTokens, isUpstreamAncestor, parseUpstreamToken } from './upstream-token.ts'

const keys = createEncryptionKeys(Buffer.alloc(32, 1), [])
const session = {
  id: '11111111-2222-4333-8444-555555555555',
  hmacKey: Buffer.alloc(32, 7).toString('base64url'),
  counter: 300n,
}
const tokenAt = (counter: bigint, of = session) => deriveUpstreamTokens(keys, { ...of, counter })?.current ?? ''

describe('a refresh token of the second form of supabase/auth', () => {
  it.each([0n, 1n, 127n, 128n, 16_384n, 2n ** 62n])('names its session and its counter: %s', (counter) => {
    expect(parseUpstreamToken(tokenAt(counter))).toEqual({ sessionId: session.id, counter })
  })

  it.each(['', 'thenewtoken1', 'A'.repeat(32), 'B'.repeat(60), 'A'.repeat(200)])(
    'is not recognised in the text %s',
    (text) => {
      expect(parseUpstreamToken(text)).toBeUndefined()
    },
  )

  it.each([
    ['the first one', tokenAt(0n), true],
    ['the one before the newest', tokenAt(299n), true],
    ['the newest', tokenAt(300n), false],
    ['one that was never issued', tokenAt(301n), false],
    ['one of another key', tokenAt(1n, { ...session, hmacKey: Buffer.alloc(32, 8).toString('base64url') }), false],
    ['one of another session', tokenAt(1n, { ...session, id: '11111111-2222-4333-8444-555555555556' }), false],
    ['one with a changed counter', `${tokenAt(1n).slice(0, 22)}B${tokenAt(1n).slice(23)}`, false],
    ['another text', 'thenewtoken1', false],
  ])('is an ancestor where the session has had it before: %s', (_case, token, expected) => {
    expect(isUpstreamAncestor(keys, session, token)).toBe(expected)
  })

  it('has no ancestor where the key of the session is too short', () => {
    const short = { ...session, hmacKey: Buffer.alloc(31, 7).toString('base64url') }
    expect(isUpstreamAncestor(keys, short, tokenAt(1n))).toBe(false)
  })
})
