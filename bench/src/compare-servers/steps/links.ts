import { bodies, PASSWORD, type RequestStep, type Step, type Subject, signUp } from '../step.ts'

const generate = (name: string, body: RequestStep['body'], keep = 'link'): RequestStep => ({
  name: `generate: ${name}`,
  send: 'POST /admin/generate_link',
  as: 'admin',
  body: body ?? null,
  keep,
})

const byHash = (type: string): Step => ({
  name: `verify ${type} by hash`,
  send: 'POST /verify',
  body: { type, token_hash: '{link.hashed_token}' },
  keep: 'signed-in',
})

const byCode = (type: string, email: string): Step => ({
  name: `verify ${type} by code`,
  send: 'POST /verify',
  body: { type, email, token: '{link.email_otp}' },
  keep: 'signed-in',
})

export const generatedLinks: Subject = {
  name: 'generated links',
  steps: [
    signUp('known'),
    signUp('other'),
    generate('signup', { type: 'signup', email: 'g1@example.com', password: PASSWORD, data: { a: 1 } }),
    byHash('signup'),
    byHash('signup'),
    generate('signup, unconfirmed again', { type: 'signup', email: 'g2@example.com', password: PASSWORD }),
    generate('signup, unconfirmed again', { type: 'signup', email: 'g2@example.com', password: PASSWORD }),
    byCode('signup', 'g2@example.com'),
    generate('invite', {
      type: 'invite',
      email: 'g3@example.com',
      data: { b: 2 },
      redirect_to: 'https://app.example.com/in',
    }),
    byHash('invite'),
    generate('invite, again', { type: 'invite', email: 'g3@example.com' }),
    generate('invite, code', { type: 'invite', email: 'g4@example.com' }),
    byCode('invite', 'g4@example.com'),
    generate('magiclink', { type: 'magiclink', email: 'known@example.com' }),
    byHash('magiclink'),
    generate('magiclink, code', { type: 'magiclink', email: 'known@example.com' }),
    byCode('magiclink', 'known@example.com'),
    generate('magiclink, code as email', { type: 'magiclink', email: 'known@example.com' }),
    byCode('email', 'known@example.com'),
    generate('magiclink, new', { type: 'magiclink', email: 'g5@example.com' }),
    byHash('magiclink'),
    generate('recovery', { type: 'recovery', email: 'known@example.com' }),
    byCode('recovery', 'known@example.com'),
    generate('recovery, unknown', { type: 'recovery', email: 'nobody@example.com' }),
    generate('change', {
      type: 'email_change_current',
      email: 'known@example.com',
      new_email: 'known.new@example.com',
    }),
    byHash('email_change'),
    generate('change', { type: 'email_change_new', email: 'known@example.com', new_email: 'known.new@example.com' }),
    byHash('email_change'),
    ...bodies(
      'POST /admin/generate_link',
      {
        nothing: {},
        null: null,
        'no type': { email: 'known@example.com' },
        'an unknown type': { type: 'x', email: 'known@example.com' },
        'no email': { type: 'magiclink' },
        'an email that is none': { type: 'magiclink', email: 'x' },
        'signup without a password': { type: 'signup', email: 'g6@example.com' },
        'signup of a known user': { type: 'signup', email: 'other@example.com', password: PASSWORD },
        'invite of a known user': { type: 'invite', email: 'other@example.com' },
        'a change without a new email': { type: 'email_change_current', email: 'other@example.com' },
        'a change to a taken email': {
          type: 'email_change_new',
          email: 'other@example.com',
          new_email: 'known.new@example.com',
        },
        'a change to the own email': {
          type: 'email_change_current',
          email: 'other@example.com',
          new_email: 'other@example.com',
        },
        'a change of an unknown user': {
          type: 'email_change_new',
          email: 'nobody@example.com',
          new_email: 'n@example.com',
        },
        'a change to an email that is none': { type: 'email_change_new', email: 'other@example.com', new_email: 'x' },
        'a redirect that is refused': {
          type: 'magiclink',
          email: 'other@example.com',
          redirect_to: 'https://evil.example/',
        },
        'a redirect that is allowed': {
          type: 'magiclink',
          email: 'other@example.com',
          redirect_to: 'https://app.example.com/x?y=1',
        },
        'an email that is a number': { type: 'magiclink', email: 5 },
      },
      { as: 'admin' },
    ),
    {
      name: 'a redirect in the query',
      send: 'POST /admin/generate_link?redirect_to=https%3A%2F%2Fapp.example.com%2Fq',
      as: 'admin',
      body: { type: 'magiclink', email: 'other@example.com' },
    },
    {
      name: 'a redirect in a header',
      send: 'POST /admin/generate_link',
      as: 'admin',
      headers: { redirect_to: 'https://app.example.com/h' },
      body: { type: 'magiclink', email: 'other@example.com' },
    },
    {
      name: 'by a user',
      send: 'POST /admin/generate_link',
      as: 'other',
      body: { type: 'magiclink', email: 'other@example.com' },
    },
    generate('link of the last', {
      type: 'magiclink',
      email: 'other@example.com',
      redirect_to: 'https://app.example.com/x',
    }),
    {
      name: 'follow it',
      send: 'GET /verify?token={link.hashed_token}&type=magiclink&redirect_to=https%3A%2F%2Fapp.example.com%2Fx',
    },
    {
      name: 'follow it again',
      send: 'GET /verify?token={link.hashed_token}&type=magiclink&redirect_to=https%3A%2F%2Fapp.example.com%2Fx',
    },
  ],
}

const INVITES = {
  'a new address': { email: 'i1@example.com', data: { a: 1 } },
  'the same address': { email: 'i1@example.com' },
  'a known user': { email: 'known@example.com' },
  'no address': {},
  'an address that is none': { email: 'x' },
  null: null,
  'data that is a text': { email: 'i2@example.com', data: 'x' },
}

export const invitations: Subject = {
  name: 'invitations',
  steps: [
    signUp('known'),
    ...bodies('POST /invite', INVITES, { as: 'admin' }),
    ...bodies('POST /invite', { 'by a user': { email: 'i3@example.com' } }, { as: 'known' }),
    ...bodies('POST /invite', { 'by nobody': { email: 'i4@example.com' } }),
    { name: 'mail to the new', mailTo: 'i1@example.com', keep: 'mail' },
    { name: 'follow the link', send: 'GET {mail.path}', keep: 'i1' },
    { name: 'GET /user of the invited', send: 'GET /user', as: 'i1' },
  ],
}

/** URLs that the list allows, URLs that it does not, and URLs that only look like allowed ones. */
const ADDRESSES = [
  ...['http://localhost:3000', 'http://localhost:3000/', 'http://localhost:3000/a', 'http://localhost:3000/a?b=c#d'],
  ...[
    'http://localhost:3001',
    'http://localhost',
    'https://localhost:3000',
    'http://LOCALHOST:3000/a',
    'HTTP://localhost:3000',
  ],
  ...[
    'http://127.0.0.1',
    'http://127.0.0.1:3000/a',
    'https://127.0.0.1:8000',
    'exp://127.0.0.1:19000',
    'exp://127.0.0.1:19000/--/x',
  ],
  ...[
    'http://[::1]:3000',
    'http://127.0.0.2:3000',
    'http://127.1',
    'http://0.0.0.0:3000',
    'exp://localhost:19000',
    'http://10.0.0.1',
  ],
  ...[
    'https://app.example.com',
    'https://app.example.com/',
    'https://app.example.com/a/b',
    'https://app.example.com/a?b#c',
  ],
  ...[
    'http://app.example.com/a',
    'https://app.example.com:443/a',
    'https://app.example.com:8443/a',
    'https://APP.example.com/a',
  ],
  ...[
    'https://app.example.com.evil.example/a',
    'https://user@app.example.com/a',
    'https://app.example.com@evil.example/a',
  ],
  ...[
    'https://evil.example',
    'https://evil.example/https://app.example.com/a',
    'https://evil.example?https://app.example.com/a',
  ],
  ...[
    'https://evil.example#https://app.example.com/a',
    'https://evil.example\\@app.example.com/a',
    '//evil.example',
    '/a',
    'a',
  ],
  ...[
    'javascript:alert(1)',
    'data:text/html,x',
    'myapp://callback',
    'myapp://callback/',
    'myapp://callback/a',
    'myapp://other',
  ],
  ...[
    'myapp:callback',
    'MYAPP://callback',
    'https:app.example.com',
    'https:///app.example.com/a',
    ' https://app.example.com/a',
  ],
  ...[
    'https://app.example.com/a/../../b',
    'https://app.example.com/%2e%2e/b',
    'https://app.example.com/a b',
    'https://app.example.com/ä',
  ],
  ...[
    '',
    'null',
    'http://',
    'http://localhost:3000@evil.example',
    'http://localhost:99999',
    'https://xn--app-.example.com/',
  ],
]

const follow = (address: string): RequestStep => ({
  name: `/verify to ${address || 'nothing'}`,
  send: `GET /verify?type=signup&token=nothing&redirect_to=${encodeURIComponent(address)}`,
})

const AUTHORIZE = ADDRESSES.slice(0, 30)

const flows = (address: string): readonly RequestStep[] => [
  {
    name: `/authorize to ${address}`,
    send: `GET /authorize?provider=keycloak&redirect_to=${encodeURIComponent(address)}`,
    keep: 'flow',
  },
  {
    name: `/callback to ${address}`,
    send: 'GET /callback?state={flow.state}&error=access_denied&error_description=no',
  },
]

export const redirects: Subject = {
  name: 'redirects',
  steps: [
    ...ADDRESSES.map(follow),
    ...AUTHORIZE.flatMap(flows),
    {
      name: 'a header',
      send: 'GET /verify?type=signup&token=nothing',
      headers: { redirect_to: 'https://app.example.com/h' },
    },
    {
      name: 'a referer',
      send: 'GET /verify?type=signup&token=nothing',
      headers: { referer: 'https://app.example.com/r' },
    },
    {
      name: 'a referer that is refused',
      send: 'GET /verify?type=signup&token=nothing',
      headers: { referer: 'https://evil.example' },
    },
    {
      name: 'a referer and a query',
      send: 'GET /verify?type=signup&token=nothing&redirect_to=https%3A%2F%2Fapp.example.com%2Fq',
      headers: { referer: 'https://app.example.com/r', redirect_to: 'https://app.example.com/h' },
    },
  ],
}

export const globs: Subject = {
  name: 'globs',
  steps: [
    ...['https://a.globs.example', 'https://a.b.globs.example', 'https://globs.example', 'https://a.globs.example/x'],
    ...[
      'https://paths.example/one',
      'https://paths.example/one/two',
      'https://paths.example/',
      'https://paths.example',
    ],
    ...['https://deep.example/one/two', 'https://deep.example/one', 'https://q.example/ab', 'https://q.example/abc'],
    ...['https://set.example/a', 'https://set.example/d', 'https://range.example/5', 'https://range.example/x'],
    ...['https://one.example/x', 'https://two.example/x', 'https://three.example/x', 'https://escaped.example/*'],
    ...[
      'https://escaped.example/a',
      'com.app:/x',
      'com.app://x',
      'https://port.example:8080/x',
      'https://port.example/x',
    ],
  ].map(follow),
}
