import { describe, expect, it } from 'vitest'
import { createSessionCipher, IDLE_MS, isOver, LIFE_MS } from './session-cipher.ts'

const [old, current, foreign] = ['old', 'current', 'foreign'].map((text) => Buffer.alloc(32, text))
const cipher = (...secrets: readonly (Buffer | undefined)[]) =>
  createSessionCipher(secrets.filter((secret) => secret !== undefined))
const session = { id: 's1', refreshToken: 'r0', generation: 3, signedInAt: 1_000, usedAt: 2_000, toast: 'Done' }

describe('an encrypted session', () => {
  // ASVS 11.2.2
  it('is decrypted by each secret of the list, and encrypted by the first', async () => {
    const before = await cipher(old).encrypt(session)
    expect(await cipher(current, old).decrypt(before)).toEqual(session)
    const after = await cipher(current, old).encrypt(session)
    expect(await cipher(current).decrypt(after)).toEqual(session)
    expect(await cipher(old).decrypt(after)).toBeUndefined()
  })

  it('is not made without a secret', () => {
    expect(() => createSessionCipher([])).toThrow('a session cannot be encrypted without a secret')
  })

  it.each(['x', '\u85cf', '\u{1f600}', '"', '\0'])(
    'fits into a cookie, however long its notice is: %j',
    async (character) => {
      const encrypted = await cipher(current).encrypt({
        ...session,
        refreshToken: 'r'.repeat(64),
        toast: character.repeat(9_000),
      })
      expect(encrypted.length).toBeLessThan(3_500)
      const { toast = '' } = (await cipher(current).decrypt(encrypted)) ?? {}
      expect([toast.slice(-1), toast.slice(0, -1).replaceAll(character, '')]).toEqual(['\u2026', ''])
      const fitting = character.repeat(250)
      const kept = await cipher(current).decrypt(await cipher(current).encrypt({ ...session, toast: fitting }))
      expect(kept).toEqual({ ...session, toast: fitting })
    },
  )

  it('shows nothing of what it holds', async () => {
    // Long enough that random bytes do not contain them by chance.
    const held = { ...session, id: 'session-of-ada', refreshToken: 'refresh-token-of-ada', toast: 'Refunded' }
    const encrypted = await cipher(current).encrypt(held)
    const parts = encrypted.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    expect(parts.some((part) => /session-of|refresh-token|Refunded/.test(part))).toBe(false)
  })

  it.each(['', 'x', 'a.b.c.d.e', '{}'])('is none when the cookie is %j', async (text) => {
    expect(await cipher(current).decrypt(text)).toBeUndefined()
  })

  // ASVS 11.3.3
  it('is none when a byte was changed or another secret has encrypted it', async () => {
    const encrypted = await cipher(current).encrypt(session)
    // The last base64url character may have unused bits, but the first has none.
    const [tag = ''] = encrypted.split('.').slice(-1)
    const changed = (tag.startsWith('A') ? 'B' : 'A') + tag.slice(1)
    expect(await cipher(current).decrypt(encrypted.slice(0, -tag.length) + changed)).toBeUndefined()
    expect(await cipher(foreign).decrypt(encrypted)).toBeUndefined()
  })
})

describe('the token of a form', () => {
  it('is good for its session alone, and by each secret of the list', () => {
    const token = cipher(old).formToken('s1')
    const judged = [
      cipher(old).isFormToken('s1', token),
      cipher(current, old).isFormToken('s1', token),
      cipher(old).isFormToken('s2', token),
      cipher(current).isFormToken('s1', token),
      cipher(old).isFormToken('s1', ''),
    ]
    expect(judged).toEqual([true, true, false, false, false])
  })
})

describe('isOver', () => {
  it.each([
    [0, 0, false],
    [0, IDLE_MS - 1, false],
    [0, IDLE_MS, true],
    [LIFE_MS - 1, 0, false],
    [LIFE_MS, 0, true],
  ])('signed in %i ms and used %i ms ago: %s', (signedIn, used, expected) => {
    const now = new Date('2026-11-26T10:00:00Z')
    const times = { signedInAt: now.getTime() - signedIn, usedAt: now.getTime() - used }
    expect(isOver(times, now)).toBe(expected)
  })
})
