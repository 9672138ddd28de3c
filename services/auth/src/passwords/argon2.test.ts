import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashOfUnknownPassword, isOutdated, loadArgon2, loadNodeArgon2, loadRustArgon2 } from './argon2.ts'
import { parsePasswordHash } from './password-form.ts'

const isOutdatedHash = (hash: string) => {
  const form = parsePasswordHash(hash)
  return form && isOutdated(form)
}

const FORM = /^\$argon2id\$v=19\$(m=19456,t=2,p=1|m=19456,p=1,t=2)\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/

describe.each([
  ['@node-rs/argon2', loadRustArgon2, loadNodeArgon2],
  ['argon2', loadNodeArgon2, loadRustArgon2],
])('%s', (_name, load, loadOther) => {
  // ASVS 11.4.2
  it('makes hashes of the agreed form, which the other library verifies', async () => {
    const hash = await (await load()).hash('correct horse é 😀')
    expect(hash).toMatch(FORM)
    expect(isOutdatedHash(hash)).toBe(false)
    const other = await loadOther()
    expect(await other.verify(hash, 'correct horse é 😀')).toBe(true)
    expect(await other.verify(hash, 'correct horse e 😀')).toBe(false)
  })

  it('salts: the same password has two hashes', async () => {
    const argon2 = await load()
    expect(await argon2.hash('same')).not.toBe(await argon2.hash('same'))
  })

  it('verifies argon2i', async () => {
    const { argon2i, hash } = await import('argon2')
    const known = await hash('older', { type: argon2i, memoryCost: 4096, timeCost: 3, parallelism: 1 })
    const argon2 = await load()
    expect(await argon2.verify(known, 'older')).toBe(true)
    expect(await argon2.verify(known, 'newer')).toBe(false)
    expect(isOutdatedHash(known)).toBe(true)
  })
})

describe('isOutdated', () => {
  const tail = '$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk'
  it.each([
    ['$argon2id$v=19$m=19456,t=2,p=1', false],
    ['$argon2id$v=19$m=19456,p=1,t=2', false],
    ['$argon2id$v=19$m=19456,t=3,p=1', true],
    ['$argon2i$v=19$m=19456,t=2,p=1', true],
    ['$argon2id$v=19$m=19457,t=2,p=1', true],
    ['$argon2id$v=19$m=19456,t=2,p=2', true],
  ])('%s: %s', (head, expected) => {
    expect(isOutdatedHash(head + tail)).toBe(expected)
  })
})

describe('hashOfUnknownPassword', () => {
  it('is a current hash that no password matches, another one each time', async () => {
    const hash = hashOfUnknownPassword(randomBytes)
    expect(hash).toMatch(FORM)
    expect(isOutdatedHash(hash)).toBe(false)
    expect(hashOfUnknownPassword(randomBytes)).not.toBe(hash)
    const argon2 = await loadArgon2()
    expect(await argon2.verify(hash, '')).toBe(false)
  })
})

describe('loadArgon2', () => {
  it('gives a library that works', async () => {
    const argon2 = await loadArgon2()
    expect(await argon2.verify(await argon2.hash('x'), 'x')).toBe(true)
  })
})
