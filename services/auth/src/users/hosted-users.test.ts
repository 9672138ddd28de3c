import { expect, it } from 'vitest'
import { toForeignId } from './foreign-user.ts'
import { toForeignUser } from './foreign-users.ts'
import { readForeignUsers } from './read-foreign-users.ts'

const HEADER =
  'id,first_name,last_name,username,primary_email_address,primary_phone_number,verified_email_addresses,' +
  'unverified_email_addresses,verified_phone_numbers,unverified_phone_numbers,totp_secret,password_digest,password_hasher'
const BCRYPT = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
const SUB = '0b6c9a1c-9bd6-4a1f-8d6f-3a5d3c7e1f00'
const SECOND_FACTORS = 'second factors: the user has to enrol them again'

async function* inPieces(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += 7) yield bytes.subarray(from, from + 7)
}

async function readAll(source: 'clerk' | 'cognito', text: string) {
  const users: object[] = []
  for await (const { number, user } of readForeignUsers(source, inPieces(text)))
    users.push({ number, ...toForeignUser(source, user) })
  return users
}

it('reads the users of a CSV file of Clerk', async () => {
  const rows = [
    HEADER,
    `user_1,"Ada ""the Countess""",Lovelace,ada,ada@example.com,+14155550100,ada@example.com|a@example.com,,,+14155550100,JBSW,${BCRYPT},bcrypt`,
    'user_2,"Bob, Jr.",,,,,,,,,,5f4dcc3b5aa765d61d8327deb882cf99,md5',
    'user_3,,,,,,zoë@example.com,,+14155550101,,,,',
  ]
  expect(await readAll('clerk', `\ufeff${rows.join('\r\n')}\r\n`)).toEqual([
    {
      number: 1,
      line: {
        id: toForeignId('clerk', 'user_1'),
        email: 'ada@example.com',
        email_confirm: true,
        phone: '+14155550100',
        phone_confirm: false,
        password_hash: BCRYPT,
        user_metadata: { full_name: 'Ada "the Countess" Lovelace', preferred_username: 'ada' },
        app_metadata: { clerk_id: 'user_1' },
      },
      left: [SECOND_FACTORS],
    },
    {
      number: 2,
      line: {
        id: toForeignId('clerk', 'user_2'),
        email_confirm: false,
        phone_confirm: false,
        user_metadata: { full_name: 'Bob, Jr.' },
        app_metadata: { clerk_id: 'user_2' },
      },
      left: ['the password: its hash has a form that is not known here'],
    },
    {
      number: 3,
      line: {
        id: toForeignId('clerk', 'user_3'),
        email: 'zoë@example.com',
        email_confirm: true,
        phone: '+14155550101',
        phone_confirm: true,
        user_metadata: {},
        app_metadata: { clerk_id: 'user_3' },
      },
      left: [],
    },
  ])
})

it.each([
  ['victim@example.com', '"x|victim@example.com|y"@evil.example'],
  ['victim@example.com', 'x|victim@example.com|y@evil.example'],
  ['b@evil.example', 'a|b@evil.example'],
  ['victim@example.com', 'ada@example.com|"x victim@example.com y"@evil.example'],
])('takes no part of an address for the address %s, and says so', async (primary, cell) => {
  const row = `user_1,,,,${primary},,"${cell.replaceAll('"', '""')}",,,,,,`
  const [user] = await readAll('clerk', `${HEADER}\n${row}\n`)
  expect(user).toEqual({
    number: 1,
    line: {
      id: toForeignId('clerk', 'user_1'),
      email: primary,
      email_confirm: false,
      phone_confirm: false,
      user_metadata: {},
      app_metadata: { clerk_id: 'user_1' },
    },
    left: ['that emails are verified: the cell may be read in several ways'],
  })
})

it.each([
  ['true', 'false', '9999-12-31T00:00:00Z'],
  ['false', 'true', '9999-12-31T00:00:00Z'],
  ['false', '', undefined],
])('bans users of Clerk who are banned (%s) or locked (%s) there, until %s', async (banned, locked, until) => {
  const [user] = await readAll(
    'clerk',
    `id,primary_email_address,banned,locked\nuser_1,ada@example.com,${banned},${locked}\n`,
  )
  expect(user).toEqual({
    number: 1,
    line: {
      id: toForeignId('clerk', 'user_1'),
      email: 'ada@example.com',
      email_confirm: false,
      phone_confirm: false,
      user_metadata: {},
      app_metadata: { clerk_id: 'user_1' },
      ...(until === undefined ? {} : { banned_until: until }),
    },
    left: [],
  })
})

it.each([
  [`[{"providerName":"Google","userId":"1"},{"providerName":"Facebook","userId":12345678901234567890}]`, ['1']],
  [`[{"providerName":"Google","userId":"1"},{"userId":"2"}]`, ['1']],
  ['{"providerName":"Google"}', []],
  ['[', []],
])(
  'says of the accounts %s of Cognito that one is not read, bans its archived user, and keeps the accounts %j',
  async (identities, ids) => {
    const Attributes = [
      { Name: 'sub', Value: SUB },
      { Name: 'identities', Value: identities },
    ]
    const Users = [{ Username: 'ada', Attributes, UserStatus: 'ARCHIVED' }]
    expect(await readAll('cognito', JSON.stringify({ Users }))).toEqual([
      {
        number: 1,
        line: {
          id: SUB,
          email_confirm: false,
          phone_confirm: false,
          user_metadata: {},
          app_metadata: { cognito_username: 'ada' },
          ...(ids.length > 0 && { identities: [{ provider: 'google', provider_id: '1', identity_data: {} }] }),
          banned_until: '9999-12-31T00:00:00Z',
        },
        left: [
          'an account at a provider: the export does not name it in its form',
          'the password: the export has no hash of it',
        ],
      },
    ])
  },
)

it.each([
  ['', 'the file is no export of users of clerk'],
  ['id,email\nuser_1,ada@example.com\n', 'the file is no export of users of clerk'],
  [`${HEADER}\nuser_1,ada\n`, 'the file is not CSV'],
  [`${HEADER}\n"user_1,ada`, 'the file is not CSV'],
])('refuses the file %j, which is no export of Clerk', async (text, problem) => {
  await expect(readAll('clerk', text)).rejects.toThrow(problem)
})

it('reads the users of a pool of Cognito', async () => {
  const attributes = (members: Readonly<Record<string, string>>) =>
    Object.entries(members).map(([Name, Value]) => ({ Name, Value }))
  const accounts = [
    { userId: '1234', providerName: 'Google', providerType: 'Google', primary: true },
    { userId: 'w', providerName: 'LoginWithAmazon', providerType: 'LoginWithAmazon' },
  ]
  const ada = attributes({
    sub: SUB,
    email: 'ada@example.com',
    email_verified: 'true',
    phone_number: '+14155550100',
    phone_number_verified: 'false',
    given_name: 'Ada',
    family_name: 'Lovelace',
    'custom:plan': 'pro',
  })
  const document = {
    Users: [
      {
        Username: 'ada',
        Attributes: ada,
        UserCreateDate: '2024-01-01T10:00:00.123000+01:00',
        UserLastModifiedDate: 1_704_103_200.5,
        Enabled: false,
        UserStatus: 'CONFIRMED',
        UserMFASettingList: ['SOFTWARE_TOKEN_MFA'],
      },
      {
        Username: 'Google_1234',
        Attributes: attributes({ sub: 'x', email: 'bob@example.com', identities: JSON.stringify(accounts) }),
        Enabled: true,
        UserStatus: 'EXTERNAL_PROVIDER',
      },
    ],
  }
  expect(await readAll('cognito', JSON.stringify(document))).toEqual([
    {
      number: 1,
      line: {
        id: SUB,
        email: 'ada@example.com',
        email_confirm: true,
        phone: '+14155550100',
        phone_confirm: false,
        user_metadata: { full_name: 'Ada Lovelace', plan: 'pro' },
        app_metadata: { cognito_username: 'ada' },
        identities: [
          { provider: 'email', identity_data: {} },
          { provider: 'phone', identity_data: {} },
        ],
        banned_until: '9999-12-31T00:00:00Z',
        created_at: '2024-01-01T10:00:00.123000+01:00',
        updated_at: '2024-01-01T10:00:00.500Z',
      },
      left: ['the password: the export has no hash of it', SECOND_FACTORS],
    },
    {
      number: 2,
      line: {
        id: toForeignId('cognito', 'x'),
        email: 'bob@example.com',
        email_confirm: false,
        phone_confirm: false,
        user_metadata: {},
        app_metadata: { cognito_username: 'Google_1234' },
        identities: [{ provider: 'google', provider_id: '1234', identity_data: {} }],
      },
      left: ['the account at LoginWithAmazon'],
    },
  ])
})
