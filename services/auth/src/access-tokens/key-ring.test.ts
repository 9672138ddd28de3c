import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../test/auth-database.ts'
import { jwtSettings, toJwtConfig } from '../config/jwt.ts'
import { createEncryptionKeys } from '../secrets/encrypted-secret.ts'
import type { AccessTokenClaims } from './access-token.ts'
import { createKeyRing } from './key-ring.ts'
import type { PrivateJwk } from './signing-key.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
beforeEach(() => database.db.deleteFrom('signing_keys').execute())
afterAll(() => database.drop())

const now = new Date('2026-01-02T03:04:05.678Z')
const iat = Math.floor(now.getTime() / 1_000)
const claims: AccessTokenClaims = {
  iss: 'http://localhost:8081',
  sub: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  aud: 'authenticated',
  iat,
  exp: iat + 3600,
  email: '',
  phone: '',
  app_metadata: {},
  user_metadata: {},
  role: 'authenticated',
  aal: 'aal1',
  amr: [],
  session_id: '0198c9d2-7b5a-7000-8000-000000000001',
  is_anonymous: false,
}
const encryptionKeys = createEncryptionKeys(Buffer.alloc(32, 1), [])

function ecKey(kid: string, ...operations: string[]): PrivateJwk {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid, key_ops: operations }
}
const first = ecKey('first', 'sign', 'verify')
const second = ecKey('second', 'verify')

interface Changes {
  readonly keys?: readonly PrivateJwk[]
  readonly settings?: Readonly<Record<string, string>>
  readonly encryption?: typeof encryptionKeys
  readonly warn?: (line: object) => void
}

function createRing({ keys = [], settings = {}, encryption = encryptionKeys, warn = () => {} }: Changes = {}) {
  const env: Readonly<Record<string, string | undefined>> = {
    JWT_SECRET: 'a secret of at least 32 bytes, really',
    JWT_KEYS: keys.length === 0 ? undefined : JSON.stringify(keys),
    ...settings,
  }
  const values = {
    JWT_SECRET: jwtSettings.JWT_SECRET.parse(env.JWT_SECRET),
    JWT_EXP: jwtSettings.JWT_EXP.parse(env.JWT_EXP),
    JWT_AUD: jwtSettings.JWT_AUD.parse(env.JWT_AUD),
    JWT_ALLOWED_AUDIENCES: [],
    JWT_ADMIN_ROLES: jwtSettings.JWT_ADMIN_ROLES.parse(env.JWT_ADMIN_ROLES),
    JWT_DEFAULT_GROUP_NAME: jwtSettings.JWT_DEFAULT_GROUP_NAME.parse(env.JWT_DEFAULT_GROUP_NAME),
    JWT_ISSUER: jwtSettings.JWT_ISSUER.parse(env.JWT_ISSUER),
    JWT_KEY_ID: jwtSettings.JWT_KEY_ID.parse(env.JWT_KEY_ID),
    JWT_KEYS: jwtSettings.JWT_KEYS.parse(env.JWT_KEYS),
    JWT_VALID_METHODS: jwtSettings.JWT_VALID_METHODS.parse(env.JWT_VALID_METHODS),
    API_EXTERNAL_URL: 'http://localhost:8081',
    PROFILE: 'compatible' as const,
  }
  return createKeyRing({
    db: database.db,
    jwt: toJwtConfig(values),
    tokenRules: { headBytesMax: 16_384 },
    logger: { warn },
    encryptionKeys: encryption,
    randomBytes,
  })
}

const headerOf = (token: string): unknown => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
const states = async () =>
  (await database.db.selectFrom('signing_keys').select(['kid', 'alg', 'state']).orderBy('kid').execute()).map(
    ({ kid, alg, state }) => `${kid} ${alg} ${state}`,
  )
const setState = (kid: string, state: string, retire_at: Date | null = null) =>
  database.db.updateTable('signing_keys').set({ state, retire_at }).where('kid', '=', kid).execute()

describe('without keys', () => {
  it('signs with JWT_SECRET, under JWT_KEY_ID where it is set, and publishes no key', async () => {
    const plain = createRing()
    await plain.load()
    expect(headerOf(plain.sign(claims))).toEqual({ alg: 'HS256', typ: 'JWT' })
    const named = createRing({ settings: { JWT_KEY_ID: 'k1' } })
    expect(headerOf(named.sign(claims))).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'k1' })
    expect(plain.verify(named.sign(claims), now)).toEqual({ verdict: 'valid', claims })
    expect(plain.publicJwks()).toEqual([])
  })
})

describe('user_metadata with more names than a token has room for', () => {
  it('are left out of the token, and the log names the first of them', async () => {
    const lines: object[] = []
    const ring = createRing({ warn: (line) => lines.push(line) })
    await ring.load()
    const names = Array.from({ length: 2_000 }, (_name, index) => `name-${index}-${'n'.repeat(100)}`)
    ring.sign({ ...claims, user_metadata: Object.fromEntries(names.map((name) => [name, name])) })
    expect(lines).toEqual([{ user_id: claims.sub, members: { count: expect.any(Number), names: expect.any(Array) } }])
    expect(JSON.stringify(lines).length).toBeLessThan(1_024)
  })
})

describe('JWT_KEYS', () => {
  it('fills the table once: the signing key is active and the others are next', async () => {
    const ring = createRing({ keys: [second, first] })
    await Promise.all([ring.load(), createRing({ keys: [second, first] }).load()])
    expect(await states()).toEqual(['first ES256 active', 'second ES256 next'])
    expect(headerOf(ring.sign(claims))).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'first' })
    expect(ring.verify(ring.sign(claims), now)).toEqual({ verdict: 'valid', claims })
    const shown = (key: PrivateJwk) => ({
      kty: 'EC',
      crv: 'P-256',
      x: key.x,
      y: key.y,
      kid: key.kid,
      alg: 'ES256',
      use: 'sig',
      key_ops: ['verify'],
    })
    const byId = ring.publicJwks().toSorted((a, b) => (String(a.kid) < String(b.kid) ? -1 : 1))
    expect(byId).toEqual([shown(first), shown(second)])
  })

  it('changes no stored key, and adds a later signing key as next', async () => {
    await createRing({ keys: [first] }).load()
    await createRing({ keys: [{ ...second, key_ops: ['sign'] }] }).load()
    expect(await states()).toEqual(['first ES256 active', 'second ES256 next'])
  })

  it('makes one key active when processes with different signers start together', async () => {
    const keys = [first, ...Array.from({ length: 5 }, (_, i) => ecKey(`other ${i}`, 'sign'))]
    await Promise.all(keys.map((key) => createRing({ keys: [key] }).load()))
    const found = await states()
    expect(found).toHaveLength(6)
    expect(found.filter((line) => line.endsWith(' active'))).toHaveLength(1)
  })

  it('refuses to start with a kid that the table has for another key', async () => {
    await createRing({ keys: [first] }).load()
    await expect(createRing({ keys: [ecKey('first', 'sign')] }).load()).rejects.toThrow(
      'AUTH_JWT_KEYS has another key under the kid "first" than the database: give it a new kid',
    )
  })

  it('refuses to start when it would refuse its own tokens', async () => {
    const settings = { JWT_VALID_METHODS: 'HS256' }
    await expect(createRing({ keys: [first], settings }).load()).rejects.toThrow(
      'AUTH_JWT_VALID_METHODS must contain ES256',
    )
  })

  it('stores no private key in the clear', async () => {
    await createRing({ keys: [first] }).load()
    const rows = await database.db.selectFrom('signing_keys').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(first.d)
  })

  it('says which settings may be wrong when a key cannot be opened', async () => {
    await createRing({ keys: [first] }).load()
    const encryption = createEncryptionKeys(Buffer.alloc(32, 2), [])
    await expect(createRing({ encryption }).load()).rejects.toThrow(
      'signing key "first" cannot be opened: all processes on a database need the same AUTH_SECURITY_DATABASE_ENCRYPTION_KEY, or without it the same AUTH_JWT_SECRET; a key of before belongs into AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS',
    )
  })

  it.each([
    ['no JSON', '{', 'must be a JSON array of private JWKs with a kid each'],
    ['no kid', '[{"kty":"oct"}]', 'must be a JSON array of private JWKs with a kid each'],
    ['one kid twice', JSON.stringify([first, first]), 'must give each key a kid of its own'],
    ['no signer', JSON.stringify([second]), 'must have exactly one key whose key_ops contain sign'],
    [
      'two signers',
      JSON.stringify([first, ecKey('x', 'sign')]),
      'must have exactly one key whose key_ops contain sign',
    ],
    ['a broken key', '[{"kty":"EC","crv":"P-256","kid":"b","key_ops":["sign"]}]', 'has a key that cannot be used: "b"'],
  ])('refuses %s', (_case, text, message) => {
    expect(jwtSettings.JWT_KEYS.safeParse(text).error?.issues[0]?.message).toBe(message)
  })
})

describe('rotation', () => {
  it('applies a promotion without a restart: the next key signs, and the retired key still verifies', async () => {
    const ring = createRing({ keys: [first, second] })
    await ring.load()
    const old = ring.sign(claims)
    expect(ring.verify(old, now).verdict).toBe('valid')
    await setState('first', 'retired', new Date(Date.now() + 60_000))
    await setState('second', 'active')
    await ring.load()
    expect(headerOf(ring.sign(claims))).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'second' })
    expect(ring.verify(old, now).verdict).toBe('valid')
    expect(
      ring
        .publicJwks()
        .map(({ kid }) => kid)
        .sort(),
    ).toEqual(['first', 'second'])
    await setState('first', 'retired', new Date(Date.now() - 1_000))
    await ring.load()
    // Check this for cached tokens too.
    expect(ring.verify(old, now)).toEqual({
      verdict: 'invalid',
      reason: 'token is unverifiable: unrecognized key or algorithm',
    })
    expect(ring.publicJwks().map(({ kid }) => kid)).toEqual(['second'])
  })
})

describe('verify', () => {
  it('ends a cached token at its exp', async () => {
    const ring = createRing()
    const token = ring.sign(claims)
    expect(ring.verify(token, now).verdict).toBe('valid')
    expect(ring.verify(token, new Date((claims.exp - 1) * 1_000)).verdict).toBe('valid')
    expect(ring.verify(token, new Date(claims.exp * 1_000)).verdict).toBe('invalid')
  })

  // ASVS 9.1.2
  it('allows only JWT_VALID_METHODS where they are set', () => {
    const token = createRing().sign(claims)
    expect(createRing({ settings: { JWT_VALID_METHODS: 'HS256' } }).verify(token, now).verdict).toBe('valid')
    expect(createRing({ settings: { JWT_VALID_METHODS: 'ES256' } }).verify(token, now).verdict).toBe('invalid')
  })

  // ASVS 9.1.2
  it('does not verify a token of another algorithm with the secret', async () => {
    const ring = createRing({ keys: [first] })
    await ring.load()
    const forged = createRing({ settings: { JWT_KEY_ID: 'first' } }).sign(claims)
    expect(ring.verify(forged, now).verdict).toBe('invalid')
  })
})
