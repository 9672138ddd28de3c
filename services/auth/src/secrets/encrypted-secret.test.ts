import { describe, expect, it } from 'vitest'
import {
  createEncryptionKeys,
  decryptSecret,
  deriveEncryptionKey,
  encryptForUpstream,
  encryptSecret,
  equalSecrets,
  readUpstreamSecret,
} from './encrypted-secret.ts'

const first = Buffer.alloc(32, 1)
const second = Buffer.alloc(32, 2)
const randomBytes = (size: number) => Buffer.alloc(size, 7)

describe('encryptSecret and decryptSecret', () => {
  const keys = createEncryptionKeys(first, [])
  const encrypted = encryptSecret({ encryptionKeys: keys, randomBytes }, 'row-1', 'a secret é')

  // ASVS 11.3.1, 11.3.2
  it('have the documented form', () => {
    expect(encrypted).toEqual({
      key_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      alg: 'aes-gcm-hkdf',
      nonce: randomBytes(12).toString('base64url'),
      data: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
    })
    expect(JSON.stringify(encrypted)).not.toContain('secret')
  })

  it('give back the secret that was encrypted', () => {
    expect(decryptSecret(keys, 'row-1', encrypted)).toBe('a secret é')
  })

  it('open with an older key, and encrypt with the current key', () => {
    const rotated = createEncryptionKeys(second, [first])
    expect(decryptSecret(rotated, 'row-1', encrypted)).toBe('a secret é')
    expect(encryptSecret({ encryptionKeys: rotated, randomBytes }, 'row-1', 'x').key_id).not.toBe(encrypted.key_id)
  })

  // ASVS 11.3.3
  it.each([
    ['another row', 'Unsupported state or unable to authenticate data', () => decryptSecret(keys, 'row-2', encrypted)],
    [
      'a key that is gone',
      /^no encryption key [0-9a-f]{16}$/,
      () => decryptSecret(createEncryptionKeys(second, []), 'row-1', encrypted),
    ],
    [
      'another nonce',
      'Unsupported state or unable to authenticate data',
      () => decryptSecret(keys, 'row-1', { ...encrypted, nonce: Buffer.alloc(12).toString('base64url') }),
    ],
    [
      'changed data',
      'Unsupported state or unable to authenticate data',
      () => decryptSecret(keys, 'row-1', { ...encrypted, data: `A${encrypted.data.slice(1)}` }),
    ],
    [
      'data that is too short',
      'Invalid authentication tag length: 3',
      () => decryptSecret(keys, 'row-1', { ...encrypted, data: 'AAAA' }),
    ],
  ])('refuse %s: %s', (_case, message, open) => {
    expect(open).toThrow(message)
  })
})

describe('readUpstreamSecret', () => {
  // Encrypted by supabase/auth 2.196.0 for the hash of a password.
  const key = Buffer.from('Tcyv5mDqpmwtobDmeAD8_6f4PtWLTnYt77xp3EsuYpg', 'base64url')
  const keys = createEncryptionKeys(first, [second, key])
  const userId = 'f0b4ed5d-ded0-4312-8f37-93e672a28123'
  const encrypted =
    '{"key_id":"key-1","alg":"aes-gcm-hkdf","data":"oXl7eKDJf55z009eb0JHUDqqhrnJT9BBelbC2tfrHj/4+hzi/qTmNjH9GHBhOgafiJQDHYPj8c67qc2isgfvj7ZCNQ8HzYF0yBHeTw==","nonce":"wg5z5HgZ3NxnqovB"}'

  it('opens what supabase/auth has encrypted, whatever it calls the key', () => {
    expect(readUpstreamSecret(keys, userId, encrypted)).toMatch(/^\$2a\$10\$/)
  })

  it('returns a text that is not encrypted as it is', () => {
    expect(readUpstreamSecret(keys, userId, '$2a$10$x')).toBe('$2a$10$x')
  })

  it('opens what encryptForUpstream has encrypted', () => {
    const made = encryptForUpstream({ encryptionKeys: keys, randomBytes }, userId, { keyId: 'key-1', secret: 'ABC' })
    expect(JSON.parse(made)).toEqual({
      key_id: 'key-1',
      alg: 'aes-gcm-hkdf',
      nonce: randomBytes(12).toString('base64'),
      data: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
    })
    expect(readUpstreamSecret(keys, userId, made)).toBe('ABC')
  })

  it.each([
    ['a key that is gone', createEncryptionKeys(first, [second]), userId, encrypted],
    ['another row', keys, '15d358f0-f677-49fb-9c09-32508af9a915', encrypted],
    ['another form', keys, userId, encrypted.replace('aes-gcm-hkdf', 'aes')],
    ['broken JSON', keys, userId, encrypted.slice(0, -1)],
  ])('opens nothing with %s', (_case, each, id, text) => {
    expect(readUpstreamSecret(each, id, text)).toBeUndefined()
  })
})

describe('deriveEncryptionKey', () => {
  it('derives 32 bytes that depend only on the secret', () => {
    expect(deriveEncryptionKey('a')).toHaveLength(32)
    expect(deriveEncryptionKey('a')).toEqual(deriveEncryptionKey('a'))
    expect(deriveEncryptionKey('a')).not.toEqual(deriveEncryptionKey('b'))
  })
})

it.each([
  { case: 'equal texts', left: 'ä', right: 'ä', equal: true },
  { case: 'texts that end differently', left: 'secret-1', right: 'secret-2', equal: false },
  { case: 'a text and its beginning', left: 'secret', right: 'sec', equal: false },
  { case: 'empty texts', left: '', right: '', equal: true },
  { case: 'a text and its bytes', left: 'ä', right: Uint8Array.of(0xc3, 0xa4), equal: true },
  { case: 'bytes and none', left: Buffer.alloc(32), right: Buffer.alloc(0), equal: false },
])('finds $case equal: $equal', ({ left, right, equal }) => {
  expect(equalSecrets(left, right)).toBe(equal)
})
