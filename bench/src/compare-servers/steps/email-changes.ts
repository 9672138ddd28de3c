import { getUser, mailTo, PASSWORD, type RequestStep, type Step, type Subject, signIn, signUp } from '../step.ts'

const user = (name: string): readonly Step[] => [
  {
    name: `make ${name}`,
    send: 'POST /admin/users',
    as: 'admin',
    body: { email: `${name}@example.com`, password: PASSWORD, email_confirm: true },
  },
  signIn(name),
]

const change = (name: string, email: string): RequestStep => ({
  name: `change ${name} to ${email}`,
  send: 'PUT /user',
  as: name,
  body: { email },
})

const byCode = (email: string, mail: string, keep = 'x'): RequestStep => ({
  name: `confirm ${email}`,
  send: 'POST /verify',
  body: { type: 'email_change', email, token: `{${mail}.Token}` },
  keep,
})

/** Changes of an email address that both addresses confirm. */
export const emailChanges: Subject = {
  name: 'changes of email',
  steps: [
    ...user('ada'),
    change('ada', 'ada.new@example.com'),
    mailTo('ada@example.com', 'old'),
    mailTo('ada.new@example.com', 'new'),
    getUser('ada', 'who waits'),
    byCode('ada@example.com', 'old'),
    getUser('ada', 'after one of two'),
    byCode('ada.new@example.com', 'new', 'changed'),
    getUser('changed'),
    byCode('ada.new@example.com', 'new'),
    ...user('bert'),
    change('bert', 'bert.new@example.com'),
    mailTo('bert@example.com', 'old'),
    mailTo('bert.new@example.com', 'new'),
    { name: 'follow the link of the new address', send: 'GET {new.path}' },
    { name: 'follow the link of the old address', send: 'GET {old.path}', keep: 'bert2' },
    { name: 'follow the link of the old address again', send: 'GET {old.path}' },
    getUser('bert2'),
    ...user('cara'),
    change('cara', 'cara.new@example.com'),
    mailTo('cara@example.com', 'old'),
    mailTo('cara.new@example.com', 'new'),
    { name: 'resend', send: 'POST /resend', body: { type: 'email_change', email: 'cara@example.com' } },
    mailTo('cara@example.com', 'old'),
    mailTo('cara.new@example.com', 'new'),
    change('cara', 'cara.other@example.com'),
    mailTo('cara@example.com', 'old'),
    mailTo('cara.other@example.com', 'other'),
    byCode('cara.new@example.com', 'new'),
    byCode('cara@example.com', 'old'),
    byCode('cara.other@example.com', 'other', 'cara'),
    getUser('cara'),
    change('cara', 'ada.new@example.com'),
    change('cara', 'cara.other@example.com'),
    { name: 'an anonymous user', send: 'POST /signup', body: {}, keep: 'nemo' },
    change('nemo', 'nemo@example.com'),
    mailTo('nemo@example.com', 'new'),
    getUser('nemo', 'who waits'),
    { name: 'a password before the confirmation', send: 'PUT /user', as: 'nemo', body: { password: PASSWORD } },
    byCode('nemo@example.com', 'new', 'named'),
    getUser('named'),
    {
      name: 'an address of a sign-up that waits',
      send: 'POST /signup',
      body: { email: 'waits@example.com', password: PASSWORD },
    },
    mailTo('waits@example.com', 'waits'),
    change('cara', 'waits@example.com'),
    signUp('dora'),
    mailTo('dora@example.com', 'dora-mail'),
    {
      name: 'an invitation',
      send: 'POST /invite',
      as: 'admin',
      body: { email: 'eva@example.com', data: { a: 1 } },
      keep: 'eva',
    },
    mailTo('eva@example.com', 'invite'),
    {
      name: 'accept by code',
      send: 'POST /verify',
      body: { type: 'invite', email: 'eva@example.com', token: '{invite.Token}' },
      keep: 'eva',
    },
    getUser('eva'),
  ],
}

/** Mails with the texts that are built in. */
export const builtInTexts: Subject = {
  name: 'built-in texts',
  steps: [
    signUp('ada'),
    mailTo('ada@example.com', 'm1'),
    { name: 'follow the link', send: 'GET {m1.path}', keep: 'ada' },
    { name: 'recover', send: 'POST /recover', body: { email: 'ada@example.com' } },
    mailTo('ada@example.com', 'm2'),
    { name: 'otp', send: 'POST /otp', body: { email: 'ada@example.com' } },
    mailTo('ada@example.com', 'm3'),
    { name: 'otp, a new address', send: 'POST /otp', body: { email: 'bert@example.com' } },
    mailTo('bert@example.com', 'm4'),
    { name: 'invite', send: 'POST /invite', as: 'admin', body: { email: 'cara@example.com' } },
    mailTo('cara@example.com', 'm5'),
    { name: 'change', send: 'PUT /user', as: 'ada', body: { email: 'ada.new@example.com' } },
    mailTo('ada@example.com', 'm6'),
    mailTo('ada.new@example.com', 'm7'),
    { name: 'reauthenticate', send: 'GET /reauthenticate', as: 'ada' },
    mailTo('ada@example.com', 'm8'),
  ],
}
