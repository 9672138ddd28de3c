import { describe, expect, it } from 'vitest'
import { createEncryptionKeys, deriveEncryptionKey, openSecret, sealSecret } from './sealed-secret.ts'

const first = Buffer.alloc(32, 1)
const second = Buffer.alloc(32, 2)
const randomBytes = (size: number) => Buffer.alloc(size, 7)

describe('sealSecret and openSecret', () => {
  const keys = createEncryptionKeys(first, [])
  const sealed = sealSecret({ encryptionKeys: keys, randomBytes }, 'row-1', 'a secret é')

  // ASVS 11.3.1, 11.3.2
  it('have the documented form', () => {
    expect(sealed).toEqual({
      key_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      alg: 'aes-gcm-hkdf',
      nonce: randomBytes(12).toString('base64url'),
      data: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
    })
    expect(JSON.stringify(sealed)).not.toContain('secret')
  })

  it('give the secret back', () => {
    expect(openSecret(keys, 'row-1', sealed)).toBe('a secret é')
  })

  it('open with an older key, and seal with the current key', () => {
    const rotated = createEncryptionKeys(second, [first])
    expect(openSecret(rotated, 'row-1', sealed)).toBe('a secret é')
    expect(sealSecret({ encryptionKeys: rotated, randomBytes }, 'row-1', 'x').key_id).not.toBe(sealed.key_id)
  })

  // ASVS 11.3.3
  it.each([
    ['another row', 'Unsupported state or unable to authenticate data', () => openSecret(keys, 'row-2', sealed)],
    [
      'a key that is gone',
      /^no encryption key [0-9a-f]{16}$/,
      () => openSecret(createEncryptionKeys(second, []), 'row-1', sealed),
    ],
    [
      'another nonce',
      'Unsupported state or unable to authenticate data',
      () => openSecret(keys, 'row-1', { ...sealed, nonce: Buffer.alloc(12).toString('base64url') }),
    ],
    [
      'changed data',
      'Unsupported state or unable to authenticate data',
      () => openSecret(keys, 'row-1', { ...sealed, data: `A${sealed.data.slice(1)}` }),
    ],
    [
      'data that is too short',
      'Invalid authentication tag length: 3',
      () => openSecret(keys, 'row-1', { ...sealed, data: 'AAAA' }),
    ],
  ])('refuse %s: %s', (_case, message, open) => {
    expect(open).toThrow(message)
  })
})

describe('deriveEncryptionKey', () => {
  it('derives 32 bytes that depend only on the secret', () => {
    expect(deriveEncryptionKey('a')).toHaveLength(32)
    expect(deriveEncryptionKey('a')).toEqual(deriveEncryptionKey('a'))
    expect(deriveEncryptionKey('a')).not.toEqual(deriveEncryptionKey('b'))
  })
})
