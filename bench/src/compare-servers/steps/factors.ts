import { bodies, getUser, type RequestStep, type Step, type Subject, sends, signIn, signUp } from '../step.ts'

const enrol = (as: string, name: string, keep: string): RequestStep => ({
  name: `enrol ${name}`,
  send: 'POST /factors',
  as,
  body: { factor_type: 'totp', friendly_name: name, issuer: 'trestle' },
  keep,
})

const challenge = (as: string, factor: string, keep = 'challenge'): RequestStep => ({
  name: `challenge ${factor}`,
  send: `POST /factors/{${factor}.id}/challenge`,
  as,
  keep,
})

const verify = (as: string, factor: string, keep: string, step = 0): RequestStep => ({
  name: `verify ${factor}`,
  send: `POST /factors/{${factor}.id}/verify`,
  as,
  body: { challenge_id: '{challenge.id}', code: `{totp ${factor} ${step}}` },
  keep,
})

const refresh = (from: string, keep: string): RequestStep => ({
  name: `refresh ${from}`,
  send: 'POST /token?grant_type=refresh_token',
  body: { refresh_token: `{${from}.refresh_token}` },
  keep,
})

export const authenticatorApps: Subject = {
  name: 'authenticator apps',
  steps: [
    signUp('ada'),
    signIn('ada', 'tablet'),
    // supabase/auth creates this factor, so another user requests it.
    signUp('cara'),
    ...bodies(
      'POST /factors',
      { 'a long name': { factor_type: 'totp', friendly_name: 'n'.repeat(300) } },
      { as: 'cara' },
    ),
    ...bodies(
      'POST /factors',
      {
        nothing: {},
        null: null,
        'an unknown type': { factor_type: 'x', friendly_name: 'a' },
        'a type that is a number': { factor_type: 5 },
        'recovery codes': { factor_type: 'recovery_codes' },
        WebAuthn: { factor_type: 'webauthn', friendly_name: 'w' },
        'phone without a phone': { factor_type: 'phone', friendly_name: 'p' },
        'a name that is a number': { factor_type: 'totp', friendly_name: 5 },
        'no name': { factor_type: 'totp' },
        'no name again': { factor_type: 'totp' },
        'an issuer with odd letters': { factor_type: 'totp', friendly_name: 'odd', issuer: 'a b&c/d' },
      },
      { as: 'ada' },
    ),
    enrol('ada', 'app', 'app'),
    enrol('ada', 'app', 'same'),
    getUser('ada', 'with factors'),
    challenge('ada', 'app'),
    ...bodies(
      'POST /factors/{app.id}/verify',
      {
        nothing: {},
        'no code': { challenge_id: '{challenge.id}' },
        'no challenge': { code: '000000' },
        'a wrong code': { challenge_id: '{challenge.id}', code: '000000' },
        'a code of letters': { challenge_id: '{challenge.id}', code: 'abcdef' },
        'a code of five': { challenge_id: '{challenge.id}', code: '12345' },
        'an unknown challenge': { challenge_id: '11111111-1111-4111-8111-111111111111', code: '000000' },
        'a challenge that is none': { challenge_id: 'x', code: '000000' },
        'a code that is a number': { challenge_id: '{challenge.id}', code: 0 },
      },
      { as: 'ada' },
    ),
    // Authentication methods that were used in the same second have no order.
    { pauseMs: 1_100 },
    verify('ada', 'app', 'raised', -1),
    getUser('raised'),
    getUser('ada', 'with the token from before'),
    getUser('tablet', 'another session'),
    { name: 'data by the token from before', send: 'PUT /user', as: 'ada', body: { data: { a: 1 } } },
    { name: 'a password by the token from before', send: 'PUT /user', as: 'ada', body: { password: 'another one' } },
    refresh('ada', 'r1'),
    refresh('raised', 'r2'),
    {
      name: 'the challenge again',
      send: 'POST /factors/{app.id}/verify',
      as: 'raised',
      body: { challenge_id: '{challenge.id}', code: '{totp app}' },
    },
    {
      name: 'sign in by the new password',
      send: 'POST /token?grant_type=password',
      body: { email: 'ada@example.com', password: 'another one' },
      keep: 'low',
    },
    { name: 'a password at aal1', send: 'PUT /user', as: 'low', body: { password: 'yet another one' } },
    { name: 'an email at aal1', send: 'PUT /user', as: 'low', body: { email: 'ada.new@example.com' } },
    { name: 'data at aal1', send: 'PUT /user', as: 'low', body: { data: { b: 1 } } },
    { name: 'unenrol at aal1', send: 'DELETE /factors/{app.id}', as: 'low' },
    { name: 'enrol at aal1', send: 'POST /factors', as: 'low', body: { factor_type: 'totp', friendly_name: 'low' } },
    { pauseMs: 1_100 },
    challenge('low', 'app'),
    verify('low', 'app', 'high', 1),
    getUser('high'),
    enrol('high', 'second', 'second'),
    { pauseMs: 1_100 },
    challenge('high', 'second'),
    verify('high', 'second', 'higher'),
    { name: 'unenrol', send: 'DELETE /factors/{second.id}', as: 'higher' },
    { name: 'unenrol again', send: 'DELETE /factors/{second.id}', as: 'higher' },
    ...sends(
      [
        'DELETE /factors/x',
        'POST /factors/x/challenge',
        'POST /factors/11111111-1111-4111-8111-111111111111/challenge',
        'GET /factors',
        'GET /factors/recovery-codes',
        'DELETE /factors/11111111-1111-4111-8111-111111111111',
      ],
      { as: 'higher' },
    ),
    refresh('higher', 'r3'),
    { name: 'unenrol the last', send: 'DELETE /factors/{app.id}', as: 'r3' },
    refresh('r3', 'r4'),
    getUser('r4', 'without factors'),
  ],
}

/** Factors of another user, and factors that an admin manages. */
export const adminFactors: Subject = {
  name: 'admin and factors',
  steps: [
    signUp('ada'),
    signUp('bert'),
    enrol('ada', 'app', 'app'),
    challenge('bert', 'app'),
    { name: 'unenrol by another', send: 'DELETE /factors/{app.id}', as: 'bert' },
    { name: 'list', send: 'GET /admin/users/{ada.user.id}/factors', as: 'admin' },
    ...bodies(
      'PUT /admin/users/{ada.user.id}/factors/{app.id}',
      {
        'a name': { friendly_name: 'renamed' },
        nothing: {},
        'a phone': { phone: '+4525000001' },
        'a type': { factor_type: 'phone' },
        'a status': { status: 'verified' },
      },
      { as: 'admin' },
    ),
    { name: 'of another user', send: 'DELETE /admin/users/{bert.user.id}/factors/{app.id}', as: 'admin' },
    { name: 'by a user', send: 'DELETE /admin/users/{ada.user.id}/factors/{app.id}', as: 'ada' },
    { name: 'delete', send: 'DELETE /admin/users/{ada.user.id}/factors/{app.id}', as: 'admin' },
    { name: 'delete again', send: 'DELETE /admin/users/{ada.user.id}/factors/{app.id}', as: 'admin' },
    { name: 'list', send: 'GET /admin/users/{ada.user.id}/factors', as: 'admin' },
    ...sends(
      [
        'GET /admin/users/x/factors',
        'DELETE /admin/users/{ada.user.id}/factors/x',
        'DELETE /admin/users/{ada.user.id}/passkeys/11111111-1111-4111-8111-111111111111',
      ],
      { as: 'admin' },
    ),
  ],
}

const phoneFactor: readonly Step[] = [
  {
    name: 'enrol phone',
    send: 'POST /factors',
    as: 'ada',
    body: { factor_type: 'phone', friendly_name: 'p', phone: '+4525000002' },
    keep: 'phone',
  },
  {
    name: 'the same phone',
    send: 'POST /factors',
    as: 'ada',
    body: { factor_type: 'phone', friendly_name: 'q', phone: '+4525000002' },
    keep: 'phone',
  },
  {
    name: 'a phone that is none',
    send: 'POST /factors',
    as: 'ada',
    body: { factor_type: 'phone', friendly_name: 'r', phone: 'abc' },
  },
  {
    name: 'challenge',
    send: 'POST /factors/{phone.id}/challenge',
    as: 'ada',
    body: { channel: 'sms' },
    keep: 'challenge',
  },
  { name: 'the SMS', callOf: 'SEND_SMS', keep: 'sms' },
  {
    name: 'a wrong code',
    send: 'POST /factors/{phone.id}/verify',
    as: 'ada',
    body: { challenge_id: '{challenge.id}', code: '000000' },
  },
  { pauseMs: 1_100 },
  {
    name: 'verify',
    send: 'POST /factors/{phone.id}/verify',
    as: 'ada',
    body: { challenge_id: '{challenge.id}', code: '{sms.sms.otp}' },
    keep: 'raised',
  },
  {
    name: 'verify again',
    send: 'POST /factors/{phone.id}/verify',
    as: 'raised',
    body: { challenge_id: '{challenge.id}', code: '{sms.sms.otp}' },
  },
]

export const phoneFactors: Subject = {
  name: 'phone factors',
  steps: [
    signUp('ada'),
    ...phoneFactor,
    getUser('raised'),
    {
      name: 'an admin changes the phone',
      send: 'PUT /admin/users/{ada.user.id}/factors/{phone.id}',
      as: 'admin',
      body: { phone: '+4525000003' },
    },
    {
      name: 'a channel that is none',
      send: 'POST /factors/{phone.id}/challenge',
      as: 'raised',
      body: { channel: 'pigeon' },
    },
    { name: 'unenrol', send: 'DELETE /factors/{phone.id}', as: 'raised' },
  ],
}
