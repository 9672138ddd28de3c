import { describe, expect, it } from 'vitest'
import { toStoredFirebaseHash } from './stored-hash.ts'

// The example of the project firebase/scrypt. Its password is `user1password`.
const SIGNER_KEY = 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=='
const SALT = '42xEC+ixf3L2lw=='
const HASH = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
const parameters = {
  signerKey: Buffer.from(SIGNER_KEY, 'base64'),
  saltSeparator: Buffer.from('Bw==', 'base64'),
  rounds: 8,
  memCost: 14,
}
const OWN = `v=1,n=14,r=8,p=1,ss=Bw==,sk=${SIGNER_KEY}`

describe('toStoredFirebaseHash', () => {
  it('stores neither the signer key, nor a hash from which a password would reveal the signer key', () => {
    const stored = toStoredFirebaseHash(`$fbscrypt$${SALT}$${HASH}`, parameters)
    expect(stored).toMatch(/^\$firebase-scrypt\$ln=14,r=8,p=1\$[\w-]{15}\$[\w-]{86}$/)
    expect(stored).not.toContain(SIGNER_KEY.slice(0, 20))
    expect(stored).not.toContain(HASH.slice(0, 20))
  })

  it('prefers the parameters of the hash to those of the project', () => {
    const other = { ...parameters, memCost: 10, rounds: 4 }
    const stored = toStoredFirebaseHash(`$fbscrypt$${SALT}$${HASH}`, parameters)
    expect(toStoredFirebaseHash(`$fbscrypt$${OWN}$${SALT}$${HASH}`, other)).toBe(stored)
    expect(toStoredFirebaseHash(`$fbscrypt$${OWN}$${SALT}$${HASH}`, undefined)).toBe(stored)
  })

  it('accepts base64url, in which the Admin SDK writes hashes', () => {
    const inUrl = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_')
    expect(toStoredFirebaseHash(`$fbscrypt$${inUrl(SALT)}$${inUrl(HASH)}`, parameters)).toBe(
      toStoredFirebaseHash(`$fbscrypt$${SALT}$${HASH}`, parameters),
    )
  })

  it.each([
    ['no parameters at all', `$fbscrypt$${SALT}$${HASH}`, 'needs the parameters of its Firebase project'],
    ['no hash', `$fbscrypt$${SALT}`, 'is no hash of Firebase'],
    ['too many parts', `$fbscrypt$${OWN}$${SALT}$${HASH}$x`, 'is no hash of Firebase'],
    ['a salt that is no base64', `$fbscrypt$${OWN}$!$${HASH}`, 'is no hash of Firebase'],
    ['a hash of another length', `$fbscrypt$${OWN}$${SALT}$${HASH.slice(0, 20)}`, 'does not fit the signer key'],
    [
      'other parameters',
      `$fbscrypt$v=2${OWN.slice(3)}$${SALT}$${HASH}`,
      'has parameters that are not those of Firebase',
    ],
    [
      'no signer key',
      `$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==$${SALT}$${HASH}`,
      'has parameters that are not those of Firebase',
    ],
  ])('refuses %s', (_case, text, message) => {
    expect(() => toStoredFirebaseHash(text, undefined)).toThrow(message)
  })
})
