import { bodies, getUser, PASSWORD, type Subject, sends, signIn, signUp } from '../step.ts'

/** `PUT /user` without confirmation of changes. */
export const ownUser: Subject = {
  name: 'own user',
  steps: [
    signUp('ada', { data: { a: 1, b: 2 } }),
    signUp('bert'),
    ...bodies(
      'PUT /user',
      {
        nothing: {},
        null: null,
        'a list': [],
        data: { data: { b: 3, c: { d: 4 } } },
        'a member of data removed': { data: { a: null } },
        'data that is a text': { data: 'text' },
        'data that is null': { data: null },
        'reserved members': { data: { sub: 'x', email: 'y@example.com', email_verified: false, phone_verified: true } },
        app_metadata: { app_metadata: { role: 'admin' } },
        'a role': { role: 'admin' },
        'an audience': { aud: 'other' },
        email_confirm: { email_confirm: true },
        ban_duration: { ban_duration: '1h' },
        'the own email': { email: 'ada@example.com' },
        'the own email in capitals': { email: 'ADA@example.com' },
        'a taken email': { email: 'bert@example.com' },
        'an email that is none': { email: 'nothing' },
        'an empty email': { email: '' },
        'an email that is null': { email: null },
        'an email that is a number': { email: 5 },
        'a new email': { email: 'ada.new@example.com' },
        'a channel that is none': { phone: '+4522000001', channel: 'pigeon' },
        'a new phone': { phone: '+4522000002' },
        'the same phone': { phone: '+4522000002' },
        'an empty phone': { phone: '' },
        'a phone that is none': { phone: 'abc' },
        'a nonce': { password: 'yet another one', nonce: '123456' },
        'a current password': { password: 'yet another two', current_password: 'wrong' },
        'PKCE without a method': { email: 'ada.pkce@example.com', code_challenge: '{challenge verifier}' },
        PKCE: { email: 'ada.pkce2@example.com', code_challenge: '{challenge verifier}', code_challenge_method: 's256' },
      },
      { as: 'ada' },
    ),
    getUser('ada', 'after all'),
    { name: 'refresh', send: 'POST /token?grant_type=refresh_token', body: { refresh_token: '{ada.refresh_token}' } },
    {
      name: 'all at once',
      send: 'PUT /user',
      as: 'bert',
      body: { email: 'bert.new@example.com', phone: '+4522000003', password: 'a new one', data: { z: 1 } },
    },
    getUser('bert', 'after all at once'),
    {
      name: 'sign in by the old password',
      send: 'POST /token?grant_type=password',
      body: { email: 'bert.new@example.com', password: PASSWORD },
    },
    {
      name: 'sign in by the new password',
      send: 'POST /token?grant_type=password',
      body: { email: 'bert.new@example.com', password: 'a new one' },
    },
    signIn('bert', 'old'),
  ],
}

/** The answer must not depend on existing users. */
const ADMIN_PATH = 'GET /admin/users/11111111-1111-4111-8111-111111111111'

const AUTHORIZATIONS = {
  empty: '',
  'another scheme': 'Basic YTpi',
  'the scheme alone': 'Bearer',
  'a space alone': 'Bearer ',
  'no token': 'Bearer nonsense',
  'three parts': 'Bearer a.b.c',
  'two tokens': 'Bearer {ada.access_token} {ada.access_token}',
  'small letters': 'bearer {ada.access_token}',
  capitals: 'BEARER {ada.access_token}',
  'two spaces': 'Bearer  {ada.access_token}',
  'a changed signature': 'Bearer {ada.access_token}x',
  'a refresh token': 'Bearer {ada.refresh_token}',
  'of an admin': 'Bearer {admin.access_token}',
}

/** Forged tokens. Accepted ones come last, because their sign-outs end the session. */
const FORGERIES = [
  ...['alg-none', 'expired', 'other-key', 'no-sub', 'sub-no-uuid', 'unknown-sub', 'hs512', 'unknown-session'],
  ...['session-no-uuid', 'not-yet', 'no-session', 'no-exp', 'other-audience', 'two-audiences', 'text-exp'],
]

export const bearers: Subject = {
  name: 'bearers',
  steps: [
    signUp('ada'),
    ...Object.entries(AUTHORIZATIONS).flatMap(([name, value]) =>
      // A sign-out would change the following answers.
      (value.includes('ada') ? ['GET /user', ADMIN_PATH] : ['GET /user', 'POST /logout', ADMIN_PATH]).map((send) => ({
        name: `${send}: ${name}`,
        send,
        headers: { authorization: value },
      })),
    ),
    ...sends(['GET /user', 'POST /logout', ADMIN_PATH, 'PUT /user', 'POST /factors']),
    signIn('ada'),
    ...['GET /user', 'PUT /user', 'POST /factors', 'GET /reauthenticate', 'POST /invite', 'GET /admin/audit'].map(
      (send) => ({
        name: `${send}: an own token`,
        send,
        as: 'ada',
        ...(!send.startsWith('GET') && { body: { data: { a: 1 } } }),
      }),
    ),
    ...['authenticated', 'other', ''].map((audience) => ({
      name: `GET /user: X-JWT-AUD ${audience || 'empty'}`,
      send: 'GET /user',
      as: 'ada',
      headers: { 'x-jwt-aud': audience },
    })),
    { name: 'GET /user: an apikey', send: 'GET /user', as: 'ada', headers: { apikey: 'x' } },
    ...FORGERIES.map((kind) => ({
      name: `GET /user: forged ${kind}`,
      send: 'GET /user',
      headers: { authorization: `Bearer {jwt ${kind} ada}` },
    })),
    getUser('ada', 'still'),
    ...FORGERIES.map((kind) => ({
      name: `POST /logout: forged ${kind}`,
      send: 'POST /logout?scope=local',
      headers: { authorization: `Bearer {jwt ${kind} ada}` },
    })),
  ],
}
