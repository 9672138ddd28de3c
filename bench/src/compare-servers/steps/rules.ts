import { bodies, getUser, mailTo, PASSWORD, type Subject, sends, signIn, signUp } from '../step.ts'

/** All options are off. Each step has a new user. */
export const switchedOff: Subject = {
  name: 'switched off',
  steps: [
    { name: 'settings', send: 'GET /settings' },
    ...bodies('POST /signup', {
      'by email': { email: 'new@example.com', password: PASSWORD },
      'by phone': { phone: '+4529000001', password: PASSWORD },
      anonymously: {},
    }),
    ...bodies('POST /otp', { 'by email': { email: 'new@example.com' }, 'by phone': { phone: '+4529000001' } }),
    ...bodies('POST /magiclink', { 'by email': { email: 'new@example.com' } }),
    ...bodies('POST /recover', { 'by email': { email: 'new@example.com' } }),
    ...bodies('POST /resend', { 'by phone': { type: 'sms', phone: '+4529000001' } }),
    ...bodies('POST /verify', { 'by phone': { type: 'sms', phone: '+4529000001', token: '123456' } }),
    ...bodies('POST /token?grant_type=password', { 'by phone': { phone: '+4529000001', password: PASSWORD } }),
    ...bodies('POST /token?grant_type=id_token', {
      'a new account': { provider: 'keycloak', id_token: '{id_token lena}' },
    }),
    {
      name: 'an admin makes a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'ada@example.com', password: PASSWORD, email_confirm: true },
    },
    { name: 'an admin makes a user by phone', send: 'POST /admin/users', as: 'admin', body: { phone: '+4529000002' } },
    { name: 'an invitation', send: 'POST /invite', as: 'admin', body: { email: 'invited@example.com' } },
    {
      name: 'a link for a new user',
      send: 'POST /admin/generate_link',
      as: 'admin',
      body: { type: 'signup', email: 'linked@example.com', password: PASSWORD },
    },
    {
      name: 'a link for a new user to sign in',
      send: 'POST /admin/generate_link',
      as: 'admin',
      body: { type: 'magiclink', email: 'linked2@example.com' },
    },
    signIn('ada'),
    { name: 'change the phone', send: 'PUT /user', as: 'ada', body: { phone: '+4529000003' } },
    { name: 'enrol an app', send: 'POST /factors', as: 'ada', body: { factor_type: 'totp', friendly_name: 'a' } },
    {
      name: 'enrol a phone',
      send: 'POST /factors',
      as: 'ada',
      body: { factor_type: 'phone', friendly_name: 'a', phone: '+4529000004' },
    },
    ...sends(['GET /user/identities/authorize?provider=keycloak', 'DELETE /user/identities/{ada.user.id}'], {
      as: 'ada',
    }),
    { name: 'authorize', send: 'GET /authorize?provider=keycloak', keep: 'flow' },
    { name: 'come back', send: 'GET /callback?state={flow.state}&code=lena' },
  ],
}

export const emailOff: Subject = {
  name: 'email off',
  steps: [
    { name: 'settings', send: 'GET /settings' },
    {
      name: 'an admin makes a user',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'ada@example.com', password: PASSWORD, email_confirm: true },
    },
    signUp('new'),
    signIn('ada'),
    ...bodies('POST /otp', { 'by email': { email: 'ada@example.com' } }),
    ...bodies('POST /magiclink', { 'by email': { email: 'ada@example.com' } }),
    ...bodies('POST /recover', { 'by email': { email: 'ada@example.com' } }),
    ...bodies('POST /resend', { 'by email': { type: 'signup', email: 'ada@example.com' } }),
    ...bodies('POST /verify', { 'by email': { type: 'signup', email: 'ada@example.com', token: '123456' } }),
    { name: 'an invitation', send: 'POST /invite', as: 'admin', body: { email: 'invited@example.com' } },
    { name: 'anonymous', send: 'POST /signup', body: {}, keep: 'nemo' },
    { name: 'an email for the anonymous', send: 'PUT /user', as: 'nemo', body: { email: 'nemo@example.com' } },
  ],
}

/** Rules for new passwords: required characters, a nonce, and a single session. */
export const passwordRules: Subject = {
  name: 'rules for passwords',
  steps: [
    ...bodies('POST /signup', {
      'without a digit': { email: 'p1@example.com', password: 'onlyletters' },
      'without a capital': { email: 'p2@example.com', password: 'letters1' },
      short: { email: 'p3@example.com', password: 'Ab1' },
      good: { email: 'p4@example.com', password: 'Letters12345' },
    }),
    {
      name: 'sign in',
      send: 'POST /token?grant_type=password',
      body: { email: 'p4@example.com', password: 'Letters12345' },
      keep: 'one',
    },
    {
      name: 'sign in elsewhere',
      send: 'POST /token?grant_type=password',
      body: { email: 'p4@example.com', password: 'Letters12345' },
      keep: 'two',
    },
    getUser('one', 'after another sign-in'),
    {
      name: 'refresh the first',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{one.refresh_token}' },
    },
    {
      name: 'refresh the second',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{two.refresh_token}' },
      keep: 'two',
    },
    ...bodies(
      'PUT /user',
      {
        'a password without a nonce': { password: 'Letters123456' },
        'a weak one': { password: 'onlyletters' },
        'the same': { password: 'Letters123456' },
        data: { data: { a: 1 } },
      },
      { as: 'two' },
    ),
    {
      name: 'an admin sets a weak password',
      send: 'PUT /admin/users/{two.user.id}',
      as: 'admin',
      body: { password: 'weak' },
    },
    {
      name: 'sign in by a weak password',
      send: 'POST /token?grant_type=password',
      body: { email: 'p4@example.com', password: 'weak' },
    },
  ],
}

/** A password change in an old session needs a nonce. The current password is always required. */
export const currentPassword: Subject = {
  name: 'current password',
  steps: [
    signUp('ada'),
    ...bodies(
      'PUT /user',
      {
        'no current password': { password: 'another one entirely' },
        'a wrong current password': { password: 'another one entirely', current_password: 'wrong' },
        'the current password': { password: 'another one entirely', current_password: PASSWORD },
        'data without it': { data: { a: 1 } },
        'an email without it': { email: 'ada.new@example.com' },
      },
      { as: 'ada' },
    ),
    mailTo('ada@example.com', 'm1'),
    { name: 'anonymous', send: 'POST /signup', body: {}, keep: 'nemo' },
    { name: 'an email for the anonymous', send: 'PUT /user', as: 'nemo', body: { email: 'nemo@example.com' } },
    { name: 'a first password', send: 'PUT /user', as: 'nemo', body: { password: PASSWORD } },
    {
      name: 'enrol',
      send: 'POST /factors',
      as: 'ada',
      body: { factor_type: 'totp', friendly_name: 'app' },
      keep: 'app',
    },
    { name: 'challenge', send: 'POST /factors/{app.id}/challenge', as: 'ada', keep: 'challenge' },
    {
      name: 'verify',
      send: 'POST /factors/{app.id}/verify',
      as: 'ada',
      body: { challenge_id: '{challenge.id}', code: '{totp app}' },
      keep: 'high',
    },
    { name: 'unenrol', send: 'DELETE /factors/{app.id}', as: 'high' },
    { name: 'a phone', send: 'PUT /user', as: 'high', body: { phone: '+4529100001' } },
    { name: 'link', send: 'GET /user/identities/authorize?provider=keycloak', as: 'high', keep: 'linking' },
    { name: 'come back', send: 'GET /callback?state={linking.state}&code=lena', keep: 'linked' },
    { name: 'GET /user of the linked', send: 'GET /user', as: 'linked', keep: 'user' },
    { name: 'unlink', send: 'DELETE /user/identities/{user.identities.1.identity_id}', as: 'linked' },
  ],
}

/** Sessions that end after three seconds. */
export const timebox: Subject = {
  name: 'timebox',
  steps: [
    signUp('ada'),
    {
      name: 'refresh',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{ada.refresh_token}' },
      keep: 'ada',
    },
    { pauseMs: 3_300 },
    getUser('ada', 'when it is over'),
    {
      name: 'refresh when it is over',
      send: 'POST /token?grant_type=refresh_token',
      body: { refresh_token: '{ada.refresh_token}' },
    },
    { name: 'sign out', send: 'POST /logout', as: 'ada' },
    signIn('ada'),
  ],
}

export const captcha: Subject = {
  name: 'captcha',
  steps: [
    ...[
      'POST /signup',
      'POST /otp',
      'POST /magiclink',
      'POST /recover',
      'POST /resend',
      'POST /token?grant_type=password',
      'POST /token?grant_type=refresh_token',
      'POST /token?grant_type=pkce',
      'POST /token?grant_type=id_token',
      'POST /verify',
      'POST /sso',
    ].flatMap((send) =>
      bodies(send, {
        'without a token': { email: 'ada@example.com', password: PASSWORD, type: 'signup' },
        'with an empty token': { email: 'ada@example.com', gotrue_meta_security: { captcha_token: '' } },
      }),
    ),
    {
      name: 'an admin',
      send: 'POST /admin/users',
      as: 'admin',
      body: { email: 'ada@example.com', password: PASSWORD, email_confirm: true },
    },
    { name: 'an invitation', send: 'POST /invite', as: 'admin', body: { email: 'i@example.com' } },
    { name: 'by an admin', send: 'POST /signup', as: 'admin', body: { email: 'x@example.com', password: PASSWORD } },
  ],
}
