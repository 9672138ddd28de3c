import {
  bodies,
  getUser,
  mailTo,
  PASSWORD,
  type RequestStep,
  type Step,
  type Subject,
  signIn,
  signUp,
} from '../step.ts'

const resend = (type: string, email: string): RequestStep => ({
  name: `resend ${type} to ${email}`,
  send: 'POST /resend',
  body: { type, email },
})

const verify = (name: string, body: NonNullable<RequestStep['body']>, keep: string): RequestStep => ({
  name: `verify ${name}`,
  send: 'POST /verify',
  body,
  keep,
})

/** Addresses confirmed by code, by hash and by link. */
export const confirmations: Subject = {
  name: 'confirmations',
  steps: [
    signUp('ada', { data: { name: 'Ada' } }),
    mailTo('ada@example.com', 'm1'),
    signIn('ada', 'x'),
    signUp('ada', { data: { name: 'Another' } }),
    mailTo('ada@example.com', 'm2'),
    resend('signup', 'ada@example.com'),
    mailTo('ada@example.com', 'm3'),
    verify('the earlier code', { type: 'signup', email: 'ada@example.com', token: '{m1.Token}' }, 'x'),
    verify('a wrong code', { type: 'signup', email: 'ada@example.com', token: '000000' }, 'x'),
    verify('the code', { type: 'signup', email: 'ada@example.com', token: '{m3.Token}' }, 'ada'),
    verify('the code again', { type: 'signup', email: 'ada@example.com', token: '{m3.Token}' }, 'x'),
    getUser('ada'),
    { ...signUp('ada'), name: 'sign up when confirmed', keep: 'x' },
    {
      name: 'sign up when confirmed, another password',
      send: 'POST /signup',
      body: { email: 'ada@example.com', password: 'another one' },
    },
    resend('signup', 'ada@example.com'),
    signIn('ada'),
    signUp('bert'),
    mailTo('bert@example.com', 'm4'),
    verify('the hash as another type', { type: 'recovery', token_hash: '{m4.TokenHash}' }, 'x'),
    verify('the hash', { type: 'signup', token_hash: '{m4.TokenHash}' }, 'bert'),
    verify('the hash again', { type: 'signup', token_hash: '{m4.TokenHash}' }, 'x'),
    signUp('cara'),
    mailTo('cara@example.com', 'm5'),
    { name: 'follow the link', send: 'GET {m5.path}', keep: 'cara' },
    { name: 'follow the link again', send: 'GET {m5.path}' },
    getUser('cara'),
    {
      name: 'a redirect',
      send: 'POST /signup?redirect_to=https%3A%2F%2Fapp.example.com%2Fwelcome',
      body: { email: 'dora@example.com', password: PASSWORD },
    },
    mailTo('dora@example.com', 'm6'),
    { name: 'follow its link', send: 'GET {m6.path}', keep: 'dora' },
    {
      name: 'a redirect that is refused',
      send: 'POST /signup?redirect_to=https%3A%2F%2Fevil.example',
      body: { email: 'erik@example.com', password: PASSWORD },
    },
    mailTo('erik@example.com', 'm7'),
    verify('the code as email', { type: 'email', email: 'erik@example.com', token: '{m7.Token}' }, 'erik'),
    {
      name: 'a redirect without a path',
      send: 'POST /signup?redirect_to=myapp%3A%2F%2Fcallback',
      body: { email: 'fred@example.com', password: PASSWORD },
    },
    mailTo('fred@example.com', 'm8'),
    { name: 'follow the deep link', send: 'GET {m8.path}', keep: 'fred' },
    { name: 'follow the deep link again', send: 'GET {m8.path}' },
    verify('the code as magiclink', { type: 'magiclink', email: 'fred@example.com', token: '{m8.Token}' }, 'x'),
  ],
}

/** POST /verify and POST /resend that fail. */
export const verifications: Subject = {
  name: 'verifications',
  steps: [
    signUp('ada'),
    mailTo('ada@example.com', 'mail'),
    ...bodies('POST /verify', {
      nothing: {},
      null: null,
      'no type': { email: 'ada@example.com', token: '{mail.Token}' },
      'an unknown type': { type: 'x', email: 'ada@example.com', token: '{mail.Token}' },
      'no token': { type: 'signup', email: 'ada@example.com' },
      'an empty token': { type: 'signup', email: 'ada@example.com', token: '' },
      'no address': { type: 'signup', token: '{mail.Token}' },
      'the hash as the token': { type: 'signup', token: '{mail.TokenHash}x' },
      'the token of the link and an address': { type: 'signup', email: 'ada@example.com', token: 'x{mail.linkToken}' },
      'an unknown address': { type: 'signup', email: 'nobody@example.com', token: '123456' },
      'an address that is none': { type: 'signup', email: 'x', token: '123456' },
      'email and phone': { type: 'signup', email: 'ada@example.com', phone: '+4526000001', token: '123456' },
      'a hash and an address': { type: 'signup', email: 'ada@example.com', token_hash: '{mail.TokenHash}' },
      'a hash that is none': { type: 'signup', token_hash: 'x' },
      'sms with an address': { type: 'sms', email: 'ada@example.com', token: '123456' },
      'sms of an unknown phone': { type: 'sms', phone: '+4526000001', token: '123456' },
      'a phone that is none': { type: 'sms', phone: 'abc', token: '123456' },
      phone_change: { type: 'phone_change', phone: '+4526000001', token: '123456' },
      recovery: { type: 'recovery', email: 'ada@example.com', token: '123456' },
      invite: { type: 'invite', email: 'ada@example.com', token: '123456' },
      email_change: { type: 'email_change', email: 'ada@example.com', token: '123456' },
      'a number as the token': { type: 'signup', email: 'ada@example.com', token: 123456 },
    }),
    ...[
      '',
      '?type=signup',
      '?token=x',
      '?type=x&token=y',
      '?type=signup&token_hash=x',
      '?type=signup&token=x&redirect_to=https%3A%2F%2Fapp.example.com%2Fcb%23frag',
    ].map((query) => ({ name: `GET /verify${query}`, send: `GET /verify${query}` })),
    ...bodies('POST /resend', {
      nothing: {},
      null: null,
      'no type': { email: 'ada@example.com' },
      'an unknown type': { type: 'x', email: 'ada@example.com' },
      'no address': { type: 'signup' },
      'an address that is none': { type: 'signup', email: 'x' },
      'an unknown address': { type: 'signup', email: 'nobody@example.com' },
      recovery: { type: 'recovery', email: 'ada@example.com' },
      'email_change without one': { type: 'email_change', email: 'ada@example.com' },
      'sms with an email': { type: 'sms', email: 'ada@example.com' },
      'sms to an unknown phone': { type: 'sms', phone: '+4526000009' },
      'phone_change to an unknown phone': { type: 'phone_change', phone: '+4526000009' },
      'a phone that is none': { type: 'sms', phone: 'abc' },
      'email and phone': { type: 'signup', email: 'ada@example.com', phone: '+4526000009' },
    }),
  ],
}

const VERIFIER = 'a-verifier-of-more-than-forty-three-characters-0123'
const pkce = { code_challenge: `{challenge ${VERIFIER}}`, code_challenge_method: 's256' }

const exchange = (from: string): Step => ({
  name: `exchange the code of ${from}`,
  send: 'POST /token?grant_type=pkce',
  body: { auth_code: `{${from}.code}`, code_verifier: VERIFIER },
  keep: `${from}-session`,
})

/** Mails whose links end in a code that the browser exchanges. */
export const pkceMails: Subject = {
  name: 'PKCE mails',
  steps: [
    signUp('ada', pkce),
    mailTo('ada@example.com', 'm1'),
    { name: 'follow the link of the sign-up', send: 'GET {m1.path}', keep: 'l1' },
    exchange('l1'),
    { name: 'follow it again', send: 'GET {m1.path}' },
    { name: 'otp', send: 'POST /otp', body: { email: 'ada@example.com', ...pkce } },
    mailTo('ada@example.com', 'm2'),
    { name: 'follow the link of otp', send: 'GET {m2.path}', keep: 'l2' },
    exchange('l2'),
    { name: 'magiclink', send: 'POST /magiclink', body: { email: 'ada@example.com', ...pkce } },
    mailTo('ada@example.com', 'm3'),
    {
      name: 'verify by its hash',
      send: 'POST /verify',
      body: { type: 'magiclink', token_hash: '{m3.TokenHash}' },
      keep: 'x',
    },
    { name: 'recover', send: 'POST /recover', body: { email: 'ada@example.com', ...pkce } },
    mailTo('ada@example.com', 'm4'),
    { name: 'follow the link of recover', send: 'GET {m4.path}', keep: 'l4' },
    exchange('l4'),
    { name: 'change the email', send: 'PUT /user', as: 'l4-session', body: { email: 'ada.new@example.com', ...pkce } },
    mailTo('ada@example.com', 'm5'),
    mailTo('ada.new@example.com', 'm6'),
    { name: 'follow the link of the old address', send: 'GET {m5.path}', keep: 'l5' },
    { name: 'follow the link of the new address', send: 'GET {m6.path}', keep: 'l6' },
    exchange('l6'),
    { name: 'otp, a new address', send: 'POST /otp', body: { email: 'new@example.com', ...pkce } },
    mailTo('new@example.com', 'm7'),
    { name: 'follow the link of a new address', send: 'GET {m7.path}', keep: 'l7' },
    exchange('l7'),
  ],
}
