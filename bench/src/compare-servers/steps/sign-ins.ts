import { bodies, PASSWORD, type Subject, sends, signIn, signUp } from '../step.ts'

/** Sign-ins by password, and the grants of POST /token that fail. */
export const signIns: Subject = {
  name: 'sign-ins',
  steps: [
    signUp('ada'),
    signIn('ada'),
    ...bodies('POST /token?grant_type=password', {
      capitals: { email: 'ADA@EXAMPLE.COM', password: PASSWORD },
      'spaces around': { email: ' ada@example.com ', password: PASSWORD },
      'a wrong password': { email: 'ada@example.com', password: 'wrong' },
      'an empty password': { email: 'ada@example.com', password: '' },
      'no password': { email: 'ada@example.com' },
      'an unknown address': { email: 'nobody@example.com', password: PASSWORD },
      'an address that is none': { email: 'ada', password: PASSWORD },
      'an empty address': { email: '', password: PASSWORD },
      'no address': { password: PASSWORD },
      nothing: {},
      null: null,
      'a password of 80': { email: 'ada@example.com', password: 'a'.repeat(80) },
      'an email that is a number': { email: 1, password: PASSWORD },
      'the grant in the body too': { email: 'ada@example.com', password: PASSWORD, grant_type: 'password' },
      'with data': { email: 'ada@example.com', password: PASSWORD, data: { a: 1 } },
    }),
    ...bodies('POST /token', {
      'the grant in the body alone': { email: 'ada@example.com', password: PASSWORD, grant_type: 'password' },
      'no grant': { email: 'ada@example.com', password: PASSWORD },
    }),
    ...sends([
      'POST /token',
      'POST /token?grant_type=password',
      'POST /token?grant_type=nothing',
      'POST /token?grant_type=',
      'POST /token?grant_type=refresh_token',
      'POST /token?grant_type=pkce',
      'POST /token?grant_type=id_token',
      'POST /token?grant_type=web3',
      'POST /token?grant_type=authorization_code',
      'POST /token?grant_type=client_credentials',
      'GET /token?grant_type=password',
    ]),
    ...bodies('POST /token?grant_type=nothing', { 'an unknown grant': {} }),
    ...bodies('POST /token?grant_type=web3', {
      nothing: {},
      Solana: { chain: 'solana', message: 'm', signature: 's' },
      'another chain': { chain: 'x', message: 'm', signature: 's' },
    }),
    {
      name: 'a form',
      send: 'POST /token?grant_type=password',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `email=ada%40example.com&password=${encodeURIComponent(PASSWORD)}`,
    },
    { name: 'an audience of another', ...tokenWith({ 'x-jwt-aud': 'other' }) },
    { name: 'the own audience', ...tokenWith({ 'x-jwt-aud': 'authenticated' }) },
    { name: 'an apikey', ...tokenWith({ apikey: 'whatever' }) },
    { name: 'a bearer that is none', ...tokenWith({ authorization: 'Bearer nonsense' }) },
  ],
}

function tokenWith(headers: Readonly<Record<string, string>>) {
  return { send: 'POST /token?grant_type=password', headers, body: { email: 'ada@example.com', password: PASSWORD } }
}

/** Passwords that are weak, sent by their owners. */
export const weakPasswords: Subject = {
  name: 'weak passwords',
  steps: [
    {
      name: 'an admin makes a user with a weak password',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'weak@example.com', password: 'abc', email_confirm: true },
    },
    {
      name: 'sign in',
      send: 'POST /token?grant_type=password',
      body: { email: 'weak@example.com', password: 'abc' },
      keep: 'weak',
    },
    ...bodies(
      'PUT /user',
      {
        'a short password': { password: '12345' },
        'an empty password': { password: '' },
        'the same password': { password: 'abc' },
        'a password of 73': { password: 'a'.repeat(73) },
        null: { password: null },
        'a number': { password: 123456 },
      },
      { as: 'weak' },
    ),
    { name: 'a good password', send: 'PUT /user', as: 'weak', body: { password: PASSWORD } },
    { name: 'the same password', send: 'PUT /user', as: 'weak', body: { password: PASSWORD } },
    signIn('weak'),
  ],
}
