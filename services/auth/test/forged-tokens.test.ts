import { constants, createPrivateKey, createPublicKey, randomUUID } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { CompactEncrypt, importJWK } from 'jose'
import { afterAll, describe, expect, it } from 'vitest'
import { generateSigningKey, type SigningAlgorithm } from '../src/access-tokens/signing-key.ts'
import { openTestApp } from './auth-app.ts'
import { errorBody, signedUpBody } from './bodies.ts'
import { expectUser } from './expect-user.ts'
import { attackerKey, encode, fixed, forge, hmac, signWith } from './forged-token.ts'
import { createSignedUp } from './signed-up.ts'

const SECRET = 'a secret of at least 32 bytes, for tests'

async function newKey(alg: SigningAlgorithm, kid: string) {
  const jwk = await generateSigningKey(alg, kid)
  const privateKey = alg === 'HS256' ? undefined : createPrivateKey({ key: jwk, format: 'jwk' })
  return { jwk: { ...jwk, key_ops: kid === 'es' ? ['sign'] : ['verify'] }, privateKey }
}
const [es, rs, ed, hs, old] = await Promise.all([
  newKey('ES256', 'es'),
  newKey('RS256', 'rs'),
  newKey('EdDSA', 'ed'),
  newKey('HS256', 'hs'),
  newKey('ES256', 'old'),
])
const keys = [es, rs, ed, hs, old]
const { app, deps, clock, close } = await openTestApp({
  settings: { AUTH_JWT_SECRET: SECRET, AUTH_JWT_KEYS: JSON.stringify(keys.map(({ jwk }) => jwk)) },
})
afterAll(close)
await deps.db
  .updateTable('signing_keys')
  .set({ state: 'retired', retire_at: new Date('2020-01-01') })
  .where('kid', '=', 'old')
  .execute()
await deps.signingKeys.load()

const signedUp = await createSignedUp(deps)
const now = Math.floor(clock.now().getTime() / 1_000)
const claims = {
  iss: deps.config.jwt.issuer,
  sub: signedUp.user.id,
  aud: 'authenticated',
  iat: now,
  exp: now + 3_600,
  role: 'authenticated',
  aal: 'aal1',
  is_anonymous: false,
}

const privateOf = ({ privateKey }: typeof es) => privateKey ?? expect.fail('a symmetric key has no private half')
const publicOf = (key: typeof es) => createPublicKey(privateOf(key))
const pem = (key: typeof es) => publicOf(key).export({ type: 'spki', format: 'pem' })
const esSigner = signWith(privateOf(es), 'sha256', { dsaEncoding: 'ieee-p1363' })
const octets = (key: typeof es) => Buffer.from(key.jwk.k ?? '', 'base64url')

const plain = { alg: 'HS256', typ: 'JWT' }
const named = (kid: unknown, alg = 'HS256') => ({ alg, typ: 'JWT', kid })
/** A genuine token, except for the claims. */
const genuine = (payload: object | string) =>
  forge(named('es', 'ES256'), typeof payload === 'string' ? payload : { ...payload }, esSigner)
/** A genuine token of JWT_SECRET, except for the header and claims. */
const bySecret = (header: object | string, payload: object | string = claims) =>
  forge(
    typeof header === 'string' ? header : { ...header },
    typeof payload === 'string' ? payload : { ...payload },
    hmac(SECRET),
  )

const token = genuine(claims)
const [header = '', payload = '', signature = ''] = token.split('.')
const other = genuine({ ...claims, role: 'service_role' }).split('.')
const ec = attackerKey('ec')
const rsa = attackerKey('rsa')

/** The last character of a 64-byte signature has four unused bits. Change them. */
const respelled = `${signature.slice(0, -1)}${String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1)}`
const flip = (text: string, index: number) =>
  `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`
const encrypted = await new CompactEncrypt(Buffer.from(JSON.stringify(claims)))
  .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: 'rs', cty: 'JWT' })
  .encrypt(await importJWK({ ...publicOf(rs).export({ format: 'jwk' }), alg: 'RSA-OAEP-256' }))

/** Tokens that are refused with 403 `bad_jwt`. */
const forged: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  damaged: {
    'no dots': 'x',
    'two parts': `${header}.${payload}`,
    'four parts': `${token}.x`,
    'empty parts': '..',
    'no header': `.${payload}.${signature}`,
    'no payload': `${header}..${signature}`,
    'no signature': `${header}.${payload}.`,
    'a header that is no base64url': `${header}!.${payload}.${signature}`,
    'a header that is no JSON': forge('{"alg":"HS256"', claims, hmac(SECRET)),
    'a header that is a list': bySecret('["HS256"]'),
    'a header that is null': bySecret('null'),
    'a changed header': `${flip(header, 5)}.${payload}.${signature}`,
    'a changed payload': `${header}.${flip(payload, 20)}.${signature}`,
    'a cut payload': `${header}.${payload.slice(0, -8)}.${signature}`,
    'a changed signature': `${header}.${payload}.${flip(signature, 0)}`,
    'a signature in another spelling': `${header}.${payload}.${respelled}`,
    'a cut signature': `${header}.${payload}.${signature.slice(0, -4)}`,
    'a longer signature': `${header}.${payload}.${signature}AAAA`,
    'a padded signature': `${header}.${payload}.${signature}==`,
    'a signature in plain base64': `${header}.${payload}.${Buffer.alloc(64, 0xff).toString('base64')}`,
    'another payload': `${header}.${other[1]}.${signature}`,
    'the signature of another token': `${header}.${payload}.${other[2]}`,
    'small letters': token.toLowerCase(),
    'escaped dots': token.replaceAll('.', '%2E'),
    'a byte order mark': `\u00ef\u00bb\u00bf${token}`,
    'JWS in JSON': Buffer.from(JSON.stringify({ protected: header, payload, signature })).toString('base64url'),
    'a mebibyte of payload': forge(plain, { ...claims, x: 'x'.repeat(1_048_576) }, hmac('guess')),
    'a header of 10,000 levels': forge(`${'['.repeat(10_000)}${']'.repeat(10_000)}`, claims, hmac(SECRET)),
  },
  'without algorithm': {
    ...Object.fromEntries(
      ['none', 'None', 'NONE', 'nOnE', '', 'hs256', 'HS256 ', 'HMAC', 'RSA'].map((alg) => [
        `alg "${alg}"`,
        forge({ ...plain, alg }, claims, fixed('')),
      ]),
    ),
    'alg none under the signature of a genuine token': forge({ alg: 'none', kid: 'es' }, claims, fixed(signature)),
    'no alg': bySecret({ typ: 'JWT' }),
    'alg null': bySecret({ alg: null }),
    'a list of algs': bySecret({ alg: ['HS256', 'none'] }),
    'alg twice, none last': bySecret('{"alg":"HS256","alg":"none"}'),
  },
  'with the wrong key for the algorithm': {
    'HMAC by the public RSA key in PEM': forge(named('rs'), claims, hmac(pem(rs))),
    'HMAC by the public EC key in PEM': forge(named('es'), claims, hmac(pem(es))),
    'HMAC by the public key in PEM, without kid': forge(plain, claims, hmac(pem(rs))),
    'HMAC by the public JWK': forge(named('rs'), claims, hmac(JSON.stringify(publicOf(rs).export({ format: 'jwk' })))),
    'HMAC by the modulus': forge(named('rs'), claims, hmac(Buffer.from(rs.jwk.n ?? '', 'base64url'))),
    'HMAC without a key': forge(plain, claims, hmac('')),
    'HMAC by a guess': forge(plain, claims, hmac('secret')),
    'JWT_SECRET under the kid of another secret': bySecret(named('hs')),
    'JWT_SECRET under the kid of an EC key': bySecret(named('es')),
    'another secret under no kid': forge(plain, claims, hmac(octets(hs))),
    'HS384 by JWT_SECRET': forge({ ...plain, alg: 'HS384' }, claims, hmac(SECRET, 'sha384')),
    'HS512 by JWT_SECRET': forge({ ...plain, alg: 'HS512' }, claims, hmac(SECRET, 'sha512')),
    'RS256 under the kid of the EC key': forge(named('es', 'RS256'), claims, signWith(rsa.key, 'sha256')),
    'RS512 by the key of RS256': forge(named('rs', 'RS512'), claims, signWith(privateOf(rs), 'sha512')),
    'PS256 by the key of RS256': forge(
      named('rs', 'PS256'),
      claims,
      signWith(privateOf(rs), 'sha256', { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
    ),
    'ES384 by the key of ES256': forge(named('es', 'ES384'), claims, signWith(privateOf(es), 'sha384')),
    'EdDSA under the kid of the EC key': forge(named('es', 'EdDSA'), claims, signWith(privateOf(ed), null)),
    'an EC signature in ASN.1': forge(named('es', 'ES256'), claims, signWith(privateOf(es), 'sha256')),
    'an EC signature of zeros': forge(named('es', 'ES256'), claims, fixed(Buffer.alloc(64))),
    'an RSA signature of zeros': forge(named('rs', 'RS256'), claims, fixed(Buffer.alloc(256))),
    'an EdDSA signature of zeros': forge(named('ed', 'EdDSA'), claims, fixed(Buffer.alloc(64))),
    'one byte of a MAC': forge(plain, claims, (data) => Buffer.from(hmac(SECRET)(data)).subarray(0, 1)),
    'a foreign key under our kid': forge(
      named('es', 'ES256'),
      claims,
      signWith(ec.key, 'sha256', { dsaEncoding: 'ieee-p1363' }),
    ),
    'a JWE for our public key': encrypted,
  },
  'with a kid or a key of their own': {
    ...Object.fromEntries(
      [
        '../../../../dev/null',
        "x' UNION SELECT 'guess' --",
        '__proto__',
        'constructor',
        'toString',
        'ES',
        'es\u0000',
        'https://attacker.example/key',
        '',
      ].map((kid) => [`kid ${JSON.stringify(kid)}`, forge(named(kid), claims, hmac('guess'))]),
    ),
    'a kid that is a number': bySecret(named(1)),
    'a kid that is null': bySecret(named(null)),
    'a kid that is a list': bySecret(named(['hs'])),
    'a kid that is an object': bySecret(named({ toString: 'hs' })),
    'an unknown kid of an asymmetric key': forge(named('new', 'ES256'), claims, esSigner),
    'the kid of a key that is over': forge(
      named('old', 'ES256'),
      claims,
      signWith(privateOf(old), 'sha256', { dsaEncoding: 'ieee-p1363' }),
    ),
    'an embedded key': forge({ ...named('es', 'RS256'), jwk: rsa.jwk }, claims, signWith(rsa.key, 'sha256')),
    'an embedded key without kid': forge({ alg: 'RS256', jwk: rsa.jwk }, claims, signWith(rsa.key, 'sha256')),
    'the address of a key set': forge(
      { alg: 'RS256', kid: 'x', jku: 'https://attacker.example/jwks.json' },
      claims,
      signWith(rsa.key, 'sha256'),
    ),
    'the address of a certificate': forge(
      { alg: 'RS256', kid: 'x', x5u: 'https://attacker.example/x.pem', x5c: ['MIIB'] },
      claims,
      signWith(rsa.key, 'sha256'),
    ),
  },
  'genuinely signed, with a header that must not be overlooked': {
    'crit that names a claim': bySecret({ ...plain, crit: ['exp'] }),
    'crit that names an extension': bySecret({ ...plain, crit: ['x'], x: true }),
    'crit that is empty': bySecret({ ...plain, crit: [] }),
    'crit that is null': bySecret({ ...plain, crit: null }),
    'an unencoded payload': bySecret({ ...plain, b64: false, crit: ['b64'] }),
    'a packed payload':
      `${encode({ ...plain, zip: 'DEF' })}.${deflateRawSync(JSON.stringify(claims)).toString('base64url')}`.replace(
        /.+/s,
        (data) => `${data}.${Buffer.from(hmac(SECRET)(data)).toString('base64url')}`,
      ),
    'a token in a token': bySecret({ ...plain, cty: 'JWT' }, token),
    'claims in a string': bySecret(plain, JSON.stringify(JSON.stringify(claims))),
    'claims in a list': bySecret(plain, JSON.stringify([claims])),
    'no claims': bySecret(plain, 'null'),
  },
  'genuinely signed, with claims that do not hold': {
    'exp a second ago': genuine({ ...claims, exp: now - 1 }),
    'exp now': genuine({ ...claims, exp: now }),
    'exp at the epoch': genuine({ ...claims, exp: 0 }),
    'exp as text': genuine({ ...claims, exp: String(now + 3_600) }),
    'exp null': genuine({ ...claims, exp: null }),
    'exp in a list': genuine({ ...claims, exp: [now + 3_600] }),
    'exp without end': genuine(JSON.stringify(claims).replace(/"exp":\d+/, '"exp":1e999')),
    'exp twice, over at last': genuine(JSON.stringify(claims).replace(/"exp":\d+/, `$&,"exp":${now - 1}`)),
    'nbf in the future': genuine({ ...claims, nbf: now + 60 }),
    'nbf as text': genuine({ ...claims, nbf: String(now) }),
    'no sub': genuine({ ...claims, sub: undefined }),
    'an empty sub': genuine({ ...claims, sub: '' }),
    'a sub that is a number': genuine({ ...claims, sub: 1 }),
    'a sub that is a list': genuine({ ...claims, sub: [signedUp.user.id] }),
    'a session that is no UUID': genuine({ ...claims, session_id: "' OR true --" }),
    'a session that is an object': genuine({ ...claims, session_id: {} }),
  },
}

/** Tokens that are refused for another reason, or before the signature check. */
const elsewhere: readonly (readonly [
  status: number,
  name: string,
  authorization: string,
  problem: readonly [code: string, text: string],
])[] = [
  ...Object.entries({
    nothing: '',
    'a scheme alone': 'Bearer ',
    'another scheme': `Basic ${token}`,
    'no scheme': token,
    'two tokens': `Bearer ${token} ${token}`,
    'a list of tokens': `Bearer ${token},${token}`,
    'a line break in the token': `Bearer ${header}.\r\n${payload}.${signature}`,
  }).map(
    ([name, authorization]) =>
      [401, name, authorization, ['no_authorization', 'This endpoint requires a valid Bearer token']] as const,
  ),
  [
    400,
    'a sub that is no UUID',
    `Bearer ${genuine({ ...claims, sub: '../admin' })}`,
    ['bad_jwt', 'invalid claim: sub claim must be a UUID'],
  ],
  [
    403,
    'a user that does not exist',
    `Bearer ${genuine({ ...claims, sub: randomUUID() })}`,
    ['user_not_found', 'User from sub claim in JWT does not exist'],
  ],
  ...Object.entries({
    'the audience of another service': 'billing',
    'no audience': undefined,
    'an audience that is an object': {},
    'a list of foreign audiences': ['billing', 'mail'],
  }).map(
    ([name, aud]) =>
      [
        400,
        name,
        `Bearer ${genuine({ ...claims, aud })}`,
        ['validation_failed', "Token audience doesn't match request audience"],
      ] as const,
  ),
]

const ask = (authorization: string) => app.inject({ url: '/user', headers: { authorization } })

// ASVS 7.2.1, 8.3.1, 9.1.1, 9.1.2, 9.1.3, 9.2.1
describe.each(Object.entries(forged))('tokens %s', (_kind, tokens) => {
  it.each(Object.entries(tokens))('403: refuses %s', async (_name, forgery) => {
    const answer = await ask(`Bearer ${forgery}`)
    expect({ status: answer.statusCode, body: answer.json() }).toEqual({
      status: 403,
      body: { code: 403, error_code: 'bad_jwt', msg: expect.stringMatching(/^invalid (JWT|claim): /) },
    })
    // The answer must reveal neither the key nor the content of the token.
    expect(answer.body).not.toMatch(/eyJ|"kid"|BEGIN/)
  })
})

// ASVS 9.2.2, 9.2.3
describe('a token that is not for this service', () => {
  it.each(elsewhere)('%i: refuses %s', async (status, _name, authorization, problem) => {
    const answer = await ask(authorization)
    expect({ status: answer.statusCode, body: answer.json() }).toEqual({
      status,
      body: errorBody(status, ...problem),
    })
  })
})

// ASVS 9.2.3, 10.3.1
describe('a token for another service that shares the secret', () => {
  it.each([
    ['PUT', '/user'],
    ['GET', '/reauthenticate'],
  ] as const)('403: %s refuses %s', async (method, url) => {
    const authorization = `Bearer ${genuine({ ...claims, aud: 'billing' })}`
    const answer = await app.inject({ method, url, headers: { authorization }, payload: { data: {} } })
    expect(answer.json()).toEqual(errorBody(403, 'user_not_found', 'User from sub claim in JWT does not exist'))
  })
})

describe('genuine tokens', () => {
  it.each([
    ['of the active key', token],
    ['of a key that waits', forge(named('ed', 'EdDSA'), claims, signWith(privateOf(ed), null))],
    ['of another that waits', forge(named('rs', 'RS256'), claims, signWith(privateOf(rs), 'sha256'))],
    ['of a symmetric key', forge(named('hs'), claims, hmac(octets(hs)))],
    ['of JWT_SECRET', bySecret(plain)],
    ['of JWT_SECRET under a kid that nobody knows', bySecret(named('gone'))],
    ['of a service, without end', bySecret(plain, { ...claims, exp: undefined })],
  ])('200: are still accepted: %s', async (_name, text) => {
    expectUser(await ask(`Bearer ${text}`), signedUpBody(signedUp))
    expectUser(await ask(`bearer  ${text}`), signedUpBody(signedUp))
  })
})

it('tries at least 60 forgeries', () => {
  expect(Object.values(forged).flatMap((tokens) => Object.keys(tokens)).length).toBeGreaterThan(60)
})
