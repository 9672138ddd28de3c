import { mailTo, PASSWORD, type Step, type Subject, signIn, signUp } from '../step.ts'

const times = (count: number, step: Step): readonly Step[] => Array.from({ length: count }, () => step)

/** Limits of two requests, and the answers above these limits. */
export const limits: Subject = {
  name: 'limits',
  steps: [
    ...times(4, { name: 'anonymous', send: 'POST /signup', body: {} }),
    ...[1, 2, 3, 4].map((index) => signUp(`new${index}`)),
    ...times(4, { name: 'otp', send: 'POST /otp', body: { email: 'nobody@example.com', create_user: false } }),
    ...times(4, {
      name: 'verify',
      send: 'POST /verify',
      body: { type: 'signup', email: 'x@example.com', token: '123456' },
    }),
    ...times(4, { name: 'GET /verify', send: 'GET /verify?type=signup&token=x' }),
    ...times(4, {
      name: 'sign in',
      send: 'POST /token?grant_type=password',
      body: { email: 'x@example.com', password: 'x' },
    }),
    ...times(4, { name: 'refresh', send: 'POST /token?grant_type=refresh_token', body: { refresh_token: 'x' } }),
    ...times(4, { name: 'authorize', send: 'GET /authorize?provider=keycloak' }),
  ],
}

/** A limit of two mails an hour, for existing users. */
export const mailLimit: Subject = {
  name: 'mails an hour',
  steps: [
    ...[1, 2, 3, 4].map((index) => ({
      name: `make ${index}`,
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: `user${index}@example.com`, password: PASSWORD, email_confirm: true },
    })),
    ...[1, 2, 3, 4].map((index) => ({
      name: `recover ${index}`,
      send: 'POST /recover',
      body: { email: `user${index}@example.com` },
    })),
    signUp('new'),
    { name: 'invite', send: 'POST /invite', as: 'admin', body: { email: 'invited@example.com' } },
    { name: 'otp', send: 'POST /otp', body: { email: 'user4@example.com' } },
    signIn('user4'),
    { name: 'reauthenticate', send: 'GET /reauthenticate', as: 'user4' },
    { name: 'change the email', send: 'PUT /user', as: 'user4', body: { email: 'user4.new@example.com' } },
  ],
}

/** A limit of two mails an hour, and an email change, which needs two mails. */
export const mailsOfChange: Subject = {
  name: 'mails of a change',
  steps: [
    {
      name: 'make ada',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'ada@example.com', password: PASSWORD, email_confirm: true },
    },
    signIn('ada'),
    { name: 'change the email', send: 'PUT /user', as: 'ada', body: { email: 'ada.new@example.com' } },
    { name: 'recover', send: 'POST /recover', body: { email: 'ada@example.com' } },
    { name: 'recover again', send: 'POST /recover', body: { email: 'ada@example.com' } },
  ],
}

/** Intervals of two seconds between messages. */
export const intervals: Subject = {
  name: 'intervals',
  steps: [
    signUp('ada'),
    signUp('ada'),
    { name: 'resend', send: 'POST /resend', body: { type: 'signup', email: 'ada@example.com' } },
    { name: 'otp', send: 'POST /otp', body: { email: 'ada@example.com' } },
    { name: 'magiclink', send: 'POST /magiclink', body: { email: 'ada@example.com' } },
    { name: 'recover', send: 'POST /recover', body: { email: 'ada@example.com' } },
    { name: 'recover again', send: 'POST /recover', body: { email: 'ada@example.com' } },
    mailTo('ada@example.com', 'm1'),
    { pauseMs: 5_200 },
    { name: 'resend later', send: 'POST /resend', body: { type: 'signup', email: 'ada@example.com' } },
    { name: 'recover, unknown', send: 'POST /recover', body: { email: 'nobody@example.com' } },
    { name: 'recover, unknown again', send: 'POST /recover', body: { email: 'nobody@example.com' } },
    {
      name: 'a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'bert@example.com', password: PASSWORD, email_confirm: true },
    },
    {
      name: 'a link',
      send: 'POST /admin/generate_link',
      as: 'admin',
      body: { type: 'recovery', email: 'bert@example.com' },
    },
    { name: 'recover after the link', send: 'POST /recover', body: { email: 'bert@example.com' } },
    { name: 'otp after the link', send: 'POST /otp', body: { email: 'bert@example.com' } },
    signIn('bert'),
    { name: 'change', send: 'PUT /user', as: 'bert', body: { email: 'bert.new@example.com' } },
    { name: 'change again', send: 'PUT /user', as: 'bert', body: { email: 'bert.new@example.com' } },
    { name: 'reauthenticate', send: 'GET /reauthenticate', as: 'bert' },
    { name: 'reauthenticate again', send: 'GET /reauthenticate', as: 'bert' },
    { name: 'otp by phone', send: 'POST /otp', body: { phone: '+4529200001' } },
    { name: 'otp by phone again', send: 'POST /otp', body: { phone: '+4529200001' } },
    { name: 'resend by phone', send: 'POST /resend', body: { type: 'sms', phone: '+4529200001' } },
  ],
}

export const codeAttempts: Subject = {
  name: 'guesses',
  steps: [
    signUp('ada'),
    mailTo('ada@example.com', 'm1'),
    ...times(10, {
      name: 'a wrong code',
      send: 'POST /verify',
      body: { type: 'signup', email: 'ada@example.com', token: '000000' },
    }),
    {
      name: 'the right code',
      send: 'POST /verify',
      body: { type: 'signup', email: 'ada@example.com', token: '{m1.Token}' },
    },
    {
      name: 'a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'bert@example.com', password: PASSWORD, email_confirm: true },
    },
    ...times(20, {
      name: 'a wrong password',
      send: 'POST /token?grant_type=password',
      body: { email: 'bert@example.com', password: 'wrong' },
    }),
    signIn('bert'),
  ],
}

export const mailsLost: Subject = {
  name: 'no mail server',
  steps: [
    signUp('ada'),
    { name: 'otp', send: 'POST /otp', body: { email: 'bert@example.com' } },
    { name: 'invite', send: 'POST /invite', as: 'admin', body: { email: 'cara@example.com' } },
    {
      name: 'a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'dora@example.com', password: PASSWORD, email_confirm: true },
    },
    { name: 'recover', send: 'POST /recover', body: { email: 'dora@example.com' } },
    signIn('dora'),
    { name: 'reauthenticate', send: 'GET /reauthenticate', as: 'dora' },
    { name: 'the users that are there', send: 'GET /admin/users', as: 'admin' },
  ],
}
