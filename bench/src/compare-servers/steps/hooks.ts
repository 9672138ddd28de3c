import {
  callOf,
  getUser,
  type HookName,
  type Json,
  PASSWORD,
  type Step,
  type Subject,
  signIn,
  signUp,
} from '../step.ts'

const answers = (hook: HookName, body: Json, status = 200): Step => ({ answerOf: hook, status, body })
const refusal = (code: number, message: string) => ({ error: { http_code: code, message } })

/** The bodies and statuses of hook answers. A sign-up with a new address follows each answer. */
const BEFORE_ANSWERS: readonly (readonly [Json, number])[] = [
  [refusal(403, 'not you'), 200],
  [refusal(418, 'a teapot'), 200],
  [{ error: { message: 'no code' } }, 200],
  [{ error: {} }, 200],
  [{ decision: 'reject' }, 200],
  ['text', 200],
  [null, 200],
  [[], 200],
  [{}, 204],
  [{}, 400],
  [{}, 500],
  [refusal(403, 'with status'), 403],
]

export const userHooks: Subject = {
  name: 'hooks of new users',
  steps: [
    signUp('ada'),
    callOf('BEFORE_USER_CREATED'),
    callOf('SEND_EMAIL', 'mail'),
    callOf('AFTER_USER_CREATED'),
    {
      name: 'verify by the hash of the hook',
      send: 'POST /verify',
      body: { type: 'signup', token_hash: '{mail.email_data.token_hash}' },
      keep: 'ada',
    },
    callOf('CUSTOM_ACCESS_TOKEN'),
    ...BEFORE_ANSWERS.flatMap(([body, status], index): readonly Step[] => [
      answers('BEFORE_USER_CREATED', body, status),
      signUp(`refused${index}`),
    ]),
    answers('BEFORE_USER_CREATED', {}),
    { name: 'otp, a new address', send: 'POST /otp', body: { email: 'otp@example.com', data: { a: 1 } } },
    { ...callOf('SEND_EMAIL'), name: 'mail of otp' },
    answers('BEFORE_USER_CREATED', refusal(403, 'no')),
    { name: 'otp, refused', send: 'POST /otp', body: { email: 'otp2@example.com' } },
    { name: 'otp by phone, refused', send: 'POST /otp', body: { phone: '+4528000001' } },
    { name: 'anonymous, refused', send: 'POST /signup', body: {} },
    { name: 'an admin, refused', send: 'POST /admin/users', as: 'admin', body: { email: 'made@example.com' } },
    { name: 'an invitation, refused', send: 'POST /invite', as: 'admin', body: { email: 'invited@example.com' } },
    {
      name: 'an id_token, refused',
      send: 'POST /token?grant_type=id_token',
      body: { provider: 'keycloak', id_token: '{id_token lena}' },
    },
    answers('BEFORE_USER_CREATED', {}),
    answers('AFTER_USER_CREATED', refusal(400, 'too late')),
    signUp('late'),
    { name: 'anonymous, late', send: 'POST /signup', body: {} },
    answers('AFTER_USER_CREATED', {}),
    { name: 'anonymous', send: 'POST /signup', body: {}, keep: 'nemo' },
    { name: 'a user of an admin', send: 'POST /admin/users', as: 'admin', body: { email: 'made2@example.com' } },
    {
      name: 'an id_token',
      send: 'POST /token?grant_type=id_token',
      body: { provider: 'keycloak', id_token: '{id_token lena}' },
    },
  ],
}

export const messageHooks: Subject = {
  name: 'hooks of messages',
  steps: [
    {
      name: 'a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: {
        email: 'ada@example.com',
        password: PASSWORD,
        email_confirm: true,
        phone: '+4528000011',
        phone_confirm: true,
      },
    },
    signIn('ada'),
    {
      name: 'recover',
      send: 'POST /recover?redirect_to=https%3A%2F%2Fapp.example.com%2Fr',
      body: { email: 'ada@example.com' },
    },
    { ...callOf('SEND_EMAIL', 'recovery'), name: 'mail of recover' },
    { name: 'magiclink', send: 'POST /magiclink', body: { email: 'ada@example.com' } },
    { ...callOf('SEND_EMAIL'), name: 'mail of magiclink' },
    { name: 'reauthenticate', send: 'GET /reauthenticate', as: 'ada' },
    { ...callOf('SEND_EMAIL'), name: 'mail of reauthenticate' },
    { name: 'change the email', send: 'PUT /user', as: 'ada', body: { email: 'ada.new@example.com' } },
    { ...callOf('SEND_EMAIL', 'change'), name: 'mail of the change' },
    { name: 'invite', send: 'POST /invite', as: 'admin', body: { email: 'bert@example.com', data: { a: 1 } } },
    { ...callOf('SEND_EMAIL'), name: 'mail of invite' },
    { name: 'change the phone', send: 'PUT /user', as: 'ada', body: { phone: '+4528000012' } },
    { ...callOf('SEND_SMS', 'sms'), name: 'SMS of the change' },
    { name: 'otp by phone', send: 'POST /otp', body: { phone: '+4528000011' } },
    { ...callOf('SEND_SMS'), name: 'SMS of otp' },
    { name: 'otp to a new phone', send: 'POST /otp', body: { phone: '+4528000013' } },
    { ...callOf('SEND_SMS'), name: 'SMS of otp to a new phone' },
    { name: 'a new password', send: 'PUT /user', as: 'ada', body: { password: 'another one entirely' } },
    { ...callOf('SEND_EMAIL'), name: 'mail of the new password' },
    answers('SEND_EMAIL', refusal(429, 'slow down')),
    signUp('refused'),
    { name: 'recover, refused', send: 'POST /recover', body: { email: 'ada@example.com' } },
    answers('SEND_EMAIL', {}, 500),
    signUp('failed'),
    { name: 'otp, failed', send: 'POST /otp', body: { email: 'failed2@example.com' } },
    answers('SEND_EMAIL', {}),
    signUp('failed'),
    answers('SEND_SMS', refusal(422, 'no phone')),
    { name: 'otp by phone, refused', send: 'POST /otp', body: { phone: '+4528000014' } },
    { name: 'sign up by phone, refused', send: 'POST /signup', body: { phone: '+4528000015', password: PASSWORD } },
  ],
}

const DECISIONS: readonly (readonly [Json, number])[] = [
  [{}, 200],
  [{ decision: 'continue' }, 200],
  [{ decision: 'reject' }, 200],
  [{ decision: 'reject', message: 'not now' }, 200],
  [{ decision: 'reject', message: 'away', should_logout_user: true }, 200],
  [{ decision: 'nonsense' }, 200],
  [refusal(403, 'an error'), 200],
  ['text', 200],
  [{}, 500],
]

export const attemptHooks: Subject = {
  name: 'hooks of attempts',
  steps: [
    {
      name: 'a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'ada@example.com', password: PASSWORD, email_confirm: true },
    },
    signIn('ada'),
    callOf('PASSWORD_VERIFICATION_ATTEMPT'),
    ...DECISIONS.flatMap(([body, status], index): readonly Step[] => [
      answers('PASSWORD_VERIFICATION_ATTEMPT', body, status),
      { ...signIn('ada', `x${index}`), name: `right password, answer ${index}` },
      {
        name: `wrong password, answer ${index}`,
        send: 'POST /token?grant_type=password',
        body: { email: 'ada@example.com', password: 'wrong' },
      },
    ]),
    answers('PASSWORD_VERIFICATION_ATTEMPT', { decision: 'continue' }),
    signIn('ada'),
    {
      name: 'enrol',
      send: 'POST /factors',
      as: 'ada',
      body: { factor_type: 'totp', friendly_name: 'app' },
      keep: 'app',
    },
    ...DECISIONS.flatMap(([body, status], index): readonly Step[] => [
      answers('MFA_VERIFICATION_ATTEMPT', body, status),
      { name: `challenge ${index}`, send: 'POST /factors/{app.id}/challenge', as: 'ada', keep: 'challenge' },
      {
        name: `wrong code, answer ${index}`,
        send: 'POST /factors/{app.id}/verify',
        as: 'ada',
        body: { challenge_id: '{challenge.id}', code: '000000' },
      },
    ]),
    answers('MFA_VERIFICATION_ATTEMPT', { decision: 'reject', message: 'no' }),
    {
      name: 'right code, refused',
      send: 'POST /factors/{app.id}/verify',
      as: 'ada',
      body: { challenge_id: '{challenge.id}', code: '{totp app}' },
    },
    callOf('MFA_VERIFICATION_ATTEMPT'),
    getUser('ada', 'after the refusal'),
  ],
}

const claims = (change: Json): Json => ({ claims: change })
const USUAL = {
  sub: '{ada.user.id}',
  aud: 'authenticated',
  role: 'authenticated',
  aal: 'aal1',
  session_id: '{call.claims.session_id}',
  exp: '{exp}',
  iat: '{iat}',
  email: 'ada@example.com',
  phone: '',
  is_anonymous: false,
}

export const claimHooks: Subject = {
  name: 'hooks of access tokens',
  steps: [
    {
      name: 'a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'ada@example.com', password: PASSWORD, email_confirm: true },
    },
    signIn('ada'),
    callOf('CUSTOM_ACCESS_TOKEN', 'call'),
    {
      name: 'refresh',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{ada.refresh_token}' },
      keep: 'ada',
    },
    { ...callOf('CUSTOM_ACCESS_TOKEN'), name: 'call of the refresh' },
    answers('CUSTOM_ACCESS_TOKEN', {}),
    signIn('ada', 'x1'),
    answers('CUSTOM_ACCESS_TOKEN', claims({})),
    signIn('ada', 'x2'),
    answers('CUSTOM_ACCESS_TOKEN', claims({ sub: USUAL.sub, role: 'authenticated' })),
    signIn('ada', 'x3'),
    answers('CUSTOM_ACCESS_TOKEN', refusal(403, 'no token')),
    signIn('ada', 'x4'),
    {
      name: 'refresh, refused',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{ada.refresh_token}' },
    },
    answers('CUSTOM_ACCESS_TOKEN', {}, 500),
    signIn('ada', 'x5'),
    answers('CUSTOM_ACCESS_TOKEN', 'text'),
    signIn('ada', 'x6'),
  ],
}
