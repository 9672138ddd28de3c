import { randomBytes } from 'node:crypto'
import { verifySync } from '@node-rs/bcrypt'
import { describe, expect, it } from 'vitest'
import { loadArgon2 } from './password-hasher.ts'
import { hashOfUnknownPassword, isOutdated, parseStoredHash } from './stored-hash.ts'

const SALT = 'GJKc8fEj4AoR/PTojbIYew'
const KEY = '4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk'
const BCRYPT = 'CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
const salt = new Uint8Array(Buffer.from(SALT, 'base64'))
const key = new Uint8Array(Buffer.from(KEY, 'base64'))
const scrypt = { alg: 'scrypt', cost: 32_768, blockSize: 8, parallelization: 1, salt, key }
const pbkdf2 = { alg: 'pbkdf2', digest: 'sha256', iterations: 600_000, salt, key }

describe('parseStoredHash', () => {
  it.each([
    [`$argon2id$v=19$m=19456,t=2,p=1$${SALT}$${KEY}`, { alg: 'argon2id', cost: { m: 19_456, t: 2, p: 1 } }],
    [`$argon2i$v=19$p=4,t=3,m=65536$${SALT}$${KEY}`, { alg: 'argon2i', cost: { m: 65_536, t: 3, p: 4 } }],
    [`$2a$04$${BCRYPT}`, { alg: 'bcrypt' }],
    [`$2b$10$${BCRYPT}`, { alg: 'bcrypt' }],
    [`$2y$14$${BCRYPT}`, { alg: 'bcrypt' }],
    [`$scrypt$ln=15,r=8,p=1$${SALT}$${KEY}`, scrypt],
    [`$firebase-scrypt$ln=15,r=8,p=1$${SALT}$${KEY}`, { ...scrypt, alg: 'firebase-scrypt' }],
    [`$pbkdf2-sha256$i=600000,l=32$${SALT}$${KEY}`, pbkdf2],
    [`$pbkdf2-sha256$i=600000$${SALT}==$${KEY}=`, pbkdf2],
    [`$pbkdf2-sha256$600000$${SALT}$${KEY}`, pbkdf2],
    [`$pbkdf2-sha512$1$${SALT}$${KEY}`, { ...pbkdf2, digest: 'sha512', iterations: 1 }],
    [`$pbkdf2$1$${SALT}$${KEY}`, { ...pbkdf2, digest: 'sha1', iterations: 1 }],
    // The base64 alphabet of passlib.
    [`$pbkdf2-sha256$600000$${SALT.replaceAll('+', '.')}$${KEY}`, pbkdf2],
  ])('reads %s with the parameters %j', (hash, expected) => {
    // The libraries of argon2 and bcrypt parse the text themselves.
    expect(parseStoredHash(hash)).toEqual('key' in expected ? expected : { ...expected, hash })
  })

  it.each([
    ['nothing', ''],
    ['a password', 'correct horse'],
    ['something before it', `x$2b$10$${BCRYPT}`],
    ['an unknown algorithm', `$argon2d$v=19$m=19456,t=2,p=1$${SALT}$${KEY}`],
    ['a form that only import understands', `$fbscrypt$${SALT}$${KEY}`],
    ['an old version of argon2', `$argon2id$v=16$m=19456,t=2,p=1$${SALT}$${KEY}`],
    ['no version of argon2', `$argon2id$m=19456,t=2,p=1$${SALT}$${KEY}`],
    ['a missing parameter', `$argon2id$v=19$m=19456,t=2$${SALT}$${KEY}`],
    ['a parameter twice', `$argon2id$v=19$m=19456,t=2,t=2$${SALT}$${KEY}`],
    ['another parameter', `$argon2id$v=19$m=19456,t=2,p=1,data=1$${SALT}$${KEY}`],
    ['the name of a member of all objects', `$argon2id$v=19$m=19456,t=2,constructor=1$${SALT}$${KEY}`],
    ['no key', `$argon2id$v=19$m=19456,t=2,p=1$${SALT}`],
    ['more than a key', `$argon2id$v=19$m=19456,t=2,p=1$${SALT}$${KEY}$${KEY}`],
    ['an empty key: any password would fit', `$scrypt$ln=15,r=8,p=1$${SALT}$`],
    ['a key of 15 bytes', `$scrypt$ln=15,r=8,p=1$${SALT}$${KEY.slice(0, 20)}`],
    ['a salt of 7 bytes', `$scrypt$ln=15,r=8,p=1$${SALT.slice(0, 10)}$${KEY}`],
    ['a key of 129 bytes', `$scrypt$ln=15,r=8,p=1$${SALT}$${'A'.repeat(172)}`],
    ['bytes that are no base64', `$scrypt$ln=15,r=8,p=1$${SALT}!$${KEY}`],
    ['base64 of an impossible length', `$scrypt$ln=15,r=8,p=1$${SALT}AAA$${KEY}`],
    // Unused bits are set in the last character, so the library throws.
    ['another spelling of the same argon2 key', `$argon2id$v=19$m=19456,t=2,p=1$${SALT}$${KEY.slice(0, -1)}l`],
    ['less memory than argon2 has lanes', `$argon2id$v=19$m=15,t=2,p=2$${SALT}$${KEY}`],
    ['argon2 with too much memory', `$argon2id$v=19$m=262145,t=1,p=1$${SALT}$${KEY}`],
    ['argon2 with too much work', `$argon2id$v=19$m=65536,t=17,p=1$${SALT}$${KEY}`],
    ['scrypt with too much memory', `$scrypt$ln=19,r=8,p=1$${SALT}$${KEY}`],
    ['scrypt with too much work', `$scrypt$ln=17,r=8,p=5$${SALT}$${KEY}`],
    ['scrypt beyond all bounds', `$scrypt$ln=9999999999,r=8,p=1$${SALT}$${KEY}`],
    ['scrypt without cost', `$scrypt$ln=0,r=8,p=1$${SALT}$${KEY}`],
    ['PBKDF2 without iterations', `$pbkdf2-sha256$i=0$${SALT}$${KEY}`],
    ['PBKDF2 with too many iterations', `$pbkdf2-sha256$i=3000001$${SALT}$${KEY}`],
    ['PBKDF2 of another length than it says', `$pbkdf2-sha256$i=1,l=64$${SALT}$${KEY}`],
    ['PBKDF2 with another digest', `$pbkdf2-md5$i=1$${SALT}$${KEY}`],
    ['bcrypt below its least cost', `$2b$03$${BCRYPT}`],
    ['bcrypt that takes seconds', `$2b$15$${BCRYPT}`],
    ['the broken bcrypt of 2011', `$2x$10$${BCRYPT}`],
    ['bcrypt that is too short', `$2b$10$${BCRYPT.slice(1)}`],
  ])('refuses %s', (_case, hash) => {
    expect(parseStoredHash(hash)).toBeUndefined()
  })
})

const isOutdatedHash = (hash: string) => isOutdated(parseStoredHash(hash) ?? expect.fail(`cannot parse ${hash}`))

describe('isOutdated', () => {
  const tail = '$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk'
  it.each([
    ['$argon2id$v=19$m=19456,t=2,p=1', false],
    ['$argon2id$v=19$m=19456,p=1,t=2', false],
    ['$argon2id$v=19$m=19456,t=3,p=1', true],
    ['$argon2i$v=19$m=19456,t=2,p=1', true],
    ['$argon2id$v=19$m=19457,t=2,p=1', true],
    ['$argon2id$v=19$m=19456,t=2,p=2', true],
  ])('finds a hash with %s outdated: %s', (head, expected) => {
    expect(isOutdatedHash(head + tail)).toBe(expected)
  })
})

const CURRENT_FORM = /^\$argon2id\$v=19\$(m=19456,t=2,p=1|m=19456,p=1,t=2)\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/

describe('hashOfUnknownPassword', () => {
  it('makes a new current hash that no password matches', async () => {
    const hash = hashOfUnknownPassword(randomBytes, 'argon2id')
    expect(hash).toMatch(CURRENT_FORM)
    expect(isOutdatedHash(hash)).toBe(false)
    expect(hashOfUnknownPassword(randomBytes, 'argon2id')).not.toBe(hash)
    const argon2 = await loadArgon2()
    expect(await argon2.verify(hash, '')).toBe(false)
  })

  it('makes one of bcrypt where new hashes are of bcrypt', () => {
    const hash = hashOfUnknownPassword(randomBytes, 'bcrypt')
    const stored = parseStoredHash(hash) ?? expect.fail(`cannot parse ${hash}`)
    expect(hash).toMatch(/^\$2a\$10\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}$/)
    expect([isOutdated(stored, 'bcrypt'), isOutdated(stored, 'argon2id')]).toEqual([false, true])
    expect(hashOfUnknownPassword(randomBytes, 'bcrypt')).not.toBe(hash)
    expect(verifySync('', hash)).toBe(false)
  })

  it.each(['$2a$09$', '$2b$11$'])('counts bcrypt of another cost as outdated: %s', (head) => {
    expect(isOutdated(parseStoredHash(head + BCRYPT) ?? expect.fail(head), 'bcrypt')).toBe(true)
  })
})
