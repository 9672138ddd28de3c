import { describe, expect, it } from 'vitest'
import { addVerified, type ForeignUser, findContest, noVerifiedAddresses, toForeignId } from './foreign-user.ts'
import { toForeignUser } from './foreign-users.ts'

const SECOND_FACTORS = 'second factors: the user has to enrol them again'

// The documented formats of `firebase auth:export`, of Auth0 exports and of Keycloak realms.
const firebase = {
  localId: 'aB3dE',
  email: 'ada@example.com',
  emailVerified: true,
  passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
  salt: '42xEC+ixf3L2lw==',
  displayName: 'Ada Lovelace',
  photoUrl: 'https://example.com/ada.png',
  phoneNumber: '+14155550100',
  disabled: true,
  createdAt: '1500000000000',
  lastSignedInAt: '1600000000000',
  customAttributes: '{"admin":true}',
  providerUserInfo: [
    { providerId: 'password', rawId: 'ada@example.com', email: 'ada@example.com' },
    { providerId: 'google.com', rawId: '1234', email: 'ada@example.com', displayName: 'Ada' },
    { providerId: 'yahoo.com', rawId: '5' },
  ],
  mfaInfo: [{ mfaEnrollmentId: 'x', phoneInfo: '+14155550101' }],
}
const auth0 = {
  user_id: 'auth0|507f1f77bcf86cd799439020',
  email: 'ada@example.com',
  email_verified: true,
  passwordHash: '$2b$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
  name: 'Ada Lovelace',
  picture: 'https://example.com/ada.png',
  user_metadata: { hobby: 'engines' },
  app_metadata: { plan: 'pro' },
  blocked: true,
  created_at: '2020-01-02T03:04:05.678Z',
  updated_at: '2021-01-02T03:04:05.678Z',
  last_login: '2022-01-02T03:04:05.678Z',
  identities: [
    {
      connection: 'Username-Password-Authentication',
      provider: 'auth0',
      user_id: '507f1f77bcf86cd799439020',
      isSocial: false,
    },
    { connection: 'google-oauth2', provider: 'google-oauth2', user_id: 1234, isSocial: true },
    { connection: 'corp', provider: 'waad', user_id: 'w', isSocial: false },
  ],
  multifactor: ['guardian'],
}
const keycloak = {
  id: '0b6c9a1c-9bd6-4a1f-8d6f-3a5d3c7e1f00',
  createdTimestamp: 1_500_000_000_000,
  username: 'ada',
  enabled: false,
  emailVerified: true,
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  attributes: { team: ['engines'] },
  realmRoles: ['admin'],
  credentials: [
    {
      type: 'password',
      secretData:
        '{"value":"1t8iyB2A+WF/Z5JZv+lfCIhXXN33N23OSgQYThBYRfk=","salt":"N2YMIWQsBWBMae09x1jrPQ==","additionalParameters":{}}',
      credentialData: '{"hashIterations":27500,"algorithm":"pbkdf2-sha256","additionalParameters":{}}',
    },
    { type: 'otp', secretData: '{"value":"secret"}', credentialData: '{"subType":"totp"}' },
  ],
  federatedIdentities: [
    { identityProvider: 'github', userId: '77', userName: 'ada' },
    { identityProvider: 'corp-saml', userId: 'a', userName: 'ada' },
  ],
}

describe('toForeignUser', () => {
  it('reads a user of Firebase', () => {
    expect(toForeignUser('firebase', firebase)).toEqual({
      line: {
        id: toForeignId('firebase', firebase.localId),
        email: 'ada@example.com',
        email_confirm: true,
        phone: '+14155550100',
        phone_confirm: true,
        password_hash: `$fbscrypt$${firebase.salt}$${firebase.passwordHash}`,
        user_metadata: { full_name: 'Ada Lovelace', avatar_url: 'https://example.com/ada.png' },
        app_metadata: { admin: true, firebase_uid: 'aB3dE' },
        identities: [
          { provider: 'email', identity_data: { email: 'ada@example.com' } },
          { provider: 'google', provider_id: '1234', identity_data: { email: 'ada@example.com', full_name: 'Ada' } },
        ],
        banned_until: '9999-12-31T00:00:00Z',
        created_at: '2017-07-14T02:40:00.000Z',
        last_sign_in_at: '2020-09-13T12:26:40.000Z',
      },
      left: ['the account at yahoo.com', SECOND_FACTORS],
    })
  })

  it('reads a user of Auth0', () => {
    expect(toForeignUser('auth0', auth0)).toEqual({
      line: {
        id: toForeignId('auth0', auth0.user_id),
        email: 'ada@example.com',
        email_confirm: true,
        phone_confirm: false,
        password_hash: auth0.passwordHash,
        user_metadata: { full_name: 'Ada Lovelace', avatar_url: 'https://example.com/ada.png', hobby: 'engines' },
        app_metadata: { plan: 'pro', auth0_id: 'auth0|507f1f77bcf86cd799439020' },
        identities: [
          { provider: 'email', identity_data: {} },
          { provider: 'google', provider_id: '1234', identity_data: {} },
        ],
        banned_until: '9999-12-31T00:00:00Z',
        created_at: '2020-01-02T03:04:05.678Z',
        updated_at: '2021-01-02T03:04:05.678Z',
        last_sign_in_at: '2022-01-02T03:04:05.678Z',
      },
      left: ['the account at waad', SECOND_FACTORS],
    })
  })

  it('reads a user of Keycloak', () => {
    expect(toForeignUser('keycloak', keycloak)).toEqual({
      line: {
        id: keycloak.id,
        email: 'ada@example.com',
        email_confirm: true,
        password_hash: '$pbkdf2-sha256$i=27500$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A+WF/Z5JZv+lfCIhXXN33N23OSgQYThBYRfk',
        user_metadata: { full_name: 'Ada Lovelace', preferred_username: 'ada', attributes: { team: ['engines'] } },
        app_metadata: { roles: ['admin'] },
        identities: [
          { provider: 'email', identity_data: { email: 'ada@example.com' } },
          { provider: 'github', provider_id: '77', identity_data: {} },
        ],
        banned_until: '9999-12-31T00:00:00Z',
        created_at: '2017-07-14T02:40:00.000Z',
      },
      left: ['the account at corp-saml', SECOND_FACTORS],
    })
  })

  it.each([
    [
      'argon2',
      '{"hashIterations":5,"algorithm":"argon2","additionalParameters":{"hashLength":["32"],"memory":["7168"],"type":["id"],"version":["1.3"],"parallelism":["1"]}}',
      '$argon2id$v=19$m=7168,t=5,p=1$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A+WF/Z5JZv+lfCIhXXN33N23OSgQYThBYRfk',
      [],
    ],
    [
      'an algorithm that is not known',
      '{"hashIterations":5,"algorithm":"bcrypt2"}',
      undefined,
      ['the password: its hash has a form that is not known here'],
    ],
  ])('reads a password of Keycloak: %s', (_case, credentialData, hash, left) => {
    const [password] = keycloak.credentials
    const credentials = [{ ...password, credentialData }]
    const read = toForeignUser('keycloak', { ...keycloak, credentials, federatedIdentities: [] })
    expect([read.line.password_hash, read.left]).toEqual([hash, left])
  })

  it.each([
    [
      'a required action to set a new one',
      { requiredActions: ['UPDATE_PASSWORD'] },
      ['the required action UPDATE_PASSWORD'],
    ],
    ['the mark of its credential', { credentials: [{ ...keycloak.credentials[0], temporary: true }] }, []],
  ])('leaves a password behind that is temporary by %s', (_case, members, actions) => {
    const credentials = keycloak.credentials.slice(0, 1)
    const { line, left } = toForeignUser('keycloak', { ...keycloak, credentials, federatedIdentities: [], ...members })
    expect([line.password_hash, left]).toEqual([
      undefined,
      ['the password: it is temporary, and the user has to set a new one', ...actions],
    ])
  })

  const passwordsLeft = (...[source, user]: Parameters<typeof toForeignUser>) => {
    const { line, left } = toForeignUser(source, user)
    return [line.password_hash, left.filter((reason) => reason.startsWith('the password'))]
  }
  const own = { providerUserInfo: [{ providerId: 'password' }] }
  const [credential] = keycloak.credentials
  const REDACTED = 'the password: the export has its hash redacted'
  const MISSING = 'the password: the export has no hash of it'
  const UNKNOWN = 'the password: its hash has a form that is not known here'

  it.each([
    ['firebase', { localId: 'a', passwordHash: 'UkVEQUNURUQ=' }, REDACTED],
    ['firebase', { localId: 'a', passwordHash: 'UkVEQUNURUQ', salt: 'UkVEQUNURUQ=', ...own }, REDACTED],
    ['firebase', { localId: 'a', passwordHash: 'REDACTED', salt: '' }, REDACTED],
    ['firebase', { localId: 'a', passwordHash: 'lSrfV15cpx95', ...own }, 'the password: its hash has no salt'],
    ['firebase', { localId: 'a', ...own }, MISSING],
    ['auth0', { user_id: 'auth0|a', passwordHash: '[REDACTED]' }, REDACTED],
    ['auth0', { user_id: 'auth0|a', passwordHash: '********' }, REDACTED],
    ['auth0', { user_id: 'auth0|a', identities: [{ provider: 'auth0', user_id: 'a' }] }, MISSING],
    ['auth0', { user_id: 'auth0|a', passwordHash: 'sha512:5f4dcc3b' }, UNKNOWN],
    ['clerk', { id: 'a', password_digest: 'sha512:5f4dcc3b' }, UNKNOWN],
    ['keycloak', { ...keycloak, credentials: [{ ...credential, secretData: '**********' }] }, REDACTED],
    [
      'keycloak',
      { ...keycloak, credentials: [{ ...credential, secretData: '{"value":"**********","salt":"N2YMIWQ="}' }] },
      REDACTED,
    ],
    ['keycloak', { ...keycloak, credentials: [{ type: 'password' }] }, MISSING],
    ['clerk', { id: 'a', password_digest: '<redacted>' }, REDACTED],
  ] as const)('says why the password of a user of %s is not usable: %j', (source, user, reason) => {
    expect(passwordsLeft(source, user)).toEqual([undefined, [reason]])
  })

  it.each([
    ['firebase', { localId: 'a', providerUserInfo: [{ providerId: 'google.com', rawId: '1' }] }],
    ['auth0', { user_id: 'github|1', identities: [{ provider: 'github', user_id: 1 }] }],
    ['keycloak', { ...keycloak, credentials: [] }],
    ['clerk', { id: 'a', password_digest: '' }],
  ] as const)('misses no password of a user of %s who never had one: %j', (source, user) => {
    expect(passwordsLeft(source, user)).toEqual([undefined, []])
  })

  it.each([
    [{ $date: '2024-01-01T10:00:00Z' }],
    [{ $date: '2024-01-01T11:00:00.000+01:00' }],
    [{ $date: 1_704_103_200_000 }],
    [{ $date: { $numberLong: '1704103200000' } }],
  ])('reads the time %j of Auth0 beside a flag that is a text', (created_at) => {
    const { line } = toForeignUser('auth0', { user_id: 'auth0|a', created_at, email_verified: 'true' })
    expect([line.created_at, line.email_confirm]).toEqual(['2024-01-01T10:00:00.000Z', true])
  })

  it.each([
    [
      'each kind of required action once',
      { requiredActions: ['VERIFY_EMAIL', 'CONFIGURE_TOTP', 'webauthn-register', 'CONFIGURE_TOTP'] },
      [
        'the required action VERIFY_EMAIL',
        'the required action CONFIGURE_TOTP',
        'the required action webauthn-register',
      ],
    ],
    ['roles of clients', { clientRoles: { shop: ['buyer'] } }, ['the roles of clients']],
    ['groups', { groups: ['/staff'] }, ['the groups']],
    ['a password of LDAP', { federationLink: 'ldap' }, ['the password: a directory beside Keycloak has it']],
    [
      'the sign-in of a service account',
      { email: undefined, serviceAccountClientId: 'shop' },
      ['the sign-in of a client: the user is its service account'],
    ],
    [
      'former passwords, which are no second factor',
      { credentials: [{ type: 'password-history' }] },
      ['the credential of the type password-history'],
    ],
  ])('says of a user of Keycloak that the line does not bring %s', (_case, members, left) => {
    expect(
      toForeignUser('keycloak', { ...keycloak, credentials: [], federatedIdentities: [], ...members }).left,
    ).toEqual(left)
  })

  it('names an account at a provider called as a member of every object', () => {
    const identities = [{ provider: 'constructor', user_id: '1' }]
    expect(toForeignUser('auth0', { ...auth0, identities, multifactor: [] }).left).toEqual([
      'the account at constructor',
    ])
    const providerUserInfo = [{ providerId: '__proto__', rawId: '1' }]
    expect(toForeignUser('firebase', { ...firebase, providerUserInfo, mfaInfo: [] }).left).toEqual([
      'the account at __proto__',
    ])
  })

  it('says that nobody signs in here by a user name', () => {
    const { id, username } = keycloak
    expect(toForeignUser('keycloak', { id, username }).left).toEqual([
      'the sign-in by a user name: the user has no email',
    ])
  })

  it.each([
    ['firebase', { email: 'ada@example.com' }, 'localId: '],
    ['auth0', { email: 7 }, 'email: '],
    ['auth0', { identities: [{ provider: 'github', user_id: true }] }, 'identities.0.user_id: '],
    ['keycloak', { id: 'x', enabled: 'yes' }, 'enabled: '],
  ] as const)('refuses a user of %s with a member of another type', (source, user, message) => {
    expect(() => toForeignUser(source, user)).toThrow(message)
  })
})

it('refuses an id of Auth0 that is a number too large to be read as it is, and takes it as a text', () => {
  const withId = (user_id: unknown) => ({ ...auth0, identities: [{ provider: 'github', user_id }] })
  expect(() => toForeignUser('auth0', withId(Number('9007199254740993')))).toThrow(
    new Error('identities.0.user_id: is a number that loses digits when it is read: write it in quotes'),
  )
  const idsOf = ({ line }: ForeignUser) => line.identities
  expect(['9007199254740993', 9007199254740991].map((id) => idsOf(toForeignUser('auth0', withId(id))))).toEqual([
    [{ provider: 'github', provider_id: '9007199254740993', identity_data: {} }],
    [{ provider: 'github', provider_id: '9007199254740991', identity_data: {} }],
  ])
})

describe('findContest', () => {
  const email = 'the email is not verified, and another user of the export has verified it'
  const phone = 'the phone is not verified, and another user of the export has verified it'

  it.each([
    ['an email that nobody has verified', [{ email: 'a@x.y' }, { email: 'a@x.y' }], []],
    [
      'an email that both have verified',
      [
        { email: 'a@x.y', email_confirm: true },
        { email: 'a@x.y', email_confirm: true },
      ],
      [],
    ],
    ['another email', [{ email: 'a@x.y', email_confirm: true }, { email: 'b@x.y' }], []],
    ['users without an address', [{ id: 'a', email_confirm: true }, { id: 'b' }], []],
    ['an email in capitals', [{ email: 'A@X.Y' }, { email: 'a@x.y', email_confirm: true }], [[0, email]]],
    ['a phone in another form', [{ phone: '4511 22', phone_confirm: true }, { phone: '+451122' }], [[1, phone]]],
    [
      'users of whom each has verified another address of both',
      [
        { email: 'a@x.y', email_confirm: true, phone: '451122' },
        { email: 'a@x.y', phone: '451122', phone_confirm: true },
      ],
      [
        [0, phone],
        [1, email],
      ],
    ],
  ])('refuses a user who has not verified an identifier that another user has: %s', (_case, users, refused) => {
    const verified = noVerifiedAddresses({ parsePhones: true })
    for (const line of users) addVerified(verified, line)
    const reasons = users.map((line, place) => [place, findContest(verified, line)])
    expect(reasons.filter(([, reason]) => reason !== undefined)).toEqual(refused)
  })

  it.each([
    ['of which two forms are one number', true, phone],
    ['of which two forms are two numbers', false, undefined],
  ])('compares phones %s as the profile stores them', (_case, parsePhones, reason) => {
    const verified = noVerifiedAddresses({ parsePhones })
    addVerified(verified, { phone: '+44 7418 084106', phone_confirm: true })
    expect(findContest(verified, { phone: '+44 0 7418 084106' })).toBe(reason)
    expect(findContest(verified, { phone: '447418084106' })).toBe(phone)
  })
})
