import type { RequestStep, Subject } from '../step.ts'

/** Addresses that are on the list, that are not, and that try to look as if they were. */
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

/** The addresses to which browsers may be sent. */
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

/** Redirects that a list of globs allows or refuses. */
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
